// Files of rows: uploads with their progress, and links to contents.
import { signal } from "@preact/signals";
import { ApiError, address, call, errorOf, hooks } from "./api";

/** A file as `include=` shows it, and as an upload answers. */
export interface StoredFile {
  id: string;
  name: string;
  type: string;
  size: number;
}

export interface Upload {
  file: File;
  /** The field that the file is for: `products.photo`. */
  purpose: string;
  /** The part that is sent, from 0 to 1. */
  progress: (part: number) => void;
  signal: AbortSignal;
}

/** The number of files that a form still sends or will send: without them a row would be saved without its files. */
export const uploading = signal(0);

/** Sends a file; with a fresh token if the one of this tab has ended. */
export async function upload(sent: Upload): Promise<StoredFile> {
  try {
    return await posted(sent);
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 401 && (await hooks.renew()))) throw error;
    return posted(sent);
  }
}

/** By XMLHttpRequest, since `fetch` does not report how much is sent. */
function posted({ file, purpose, progress, signal }: Upload): Promise<StoredFile> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const stop = () => (request.abort(), reject(new DOMException("The upload was stopped.", "AbortError")));
    if (signal.aborted) return stop();
    signal.addEventListener("abort", stop);
    request.upload.onprogress = ({ loaded, total }) => progress(total ? loaded / total : 0);
    request.onerror = () => reject(new ApiError(0, "OFFLINE", "The service cannot be reached."));
    request.onload = () => {
      const { status, response } = request;
      if (status === 201 && response) return resolve((response as { data: StoredFile }).data);
      const headers = { "retry-after": request.getResponseHeader("retry-after") ?? "0" };
      reject(errorOf(response as Record<string, unknown> | null, new Response(null, { status, headers })));
    };
    request.open("POST", address("/api/files", { purpose }));
    request.responseType = "json";
    request.setRequestHeader("Accept", "application/json");
    request.setRequestHeader("Authorization", `Bearer ${hooks.token()}`);
    const form = new FormData();
    form.set("file", file);
    request.send(form);
  });
}

export interface Wanted {
  /** A thumbnail by its name; without it the file itself. */
  size?: string;
  download?: boolean;
}

interface Linked {
  url: string;
  until: number;
}

const links = new Map<string, Linked>();
const SPARE = 30_000; // milliseconds that are left for the request of the content

/** The address of a content for five minutes. It is that of this origin, which the policy of the page allows, and
 * `stream` prevents a redirect to the store. */
export async function contentUrl(path: string, wanted: Wanted): Promise<string> {
  const key = `${path} ${JSON.stringify(wanted)}`;
  const known = links.get(key);
  if (known && known.until > Date.now()) return known.url;
  const json = { ...wanted, stream: true };
  const { data } = await call<{ url: string; expiresAt: string }>("POST", `${path}/link`, { json });
  const url = address(data.url.slice(data.url.lastIndexOf("/files/"))).href;
  links.set(key, { url, until: Date.parse(data.expiresAt) - SPARE });
  return url;
}
