// Requests to the public API: both envelopes unwrapped, errors as one class, one retry with a fresh token.
import { answerText, fieldTexts } from "../words/answers";
import type { Challenge as Asked, FieldError } from "./types";

export type { FieldError };

export interface Challenge extends Asked {
  /** There is no second factor yet, and the tenant demands one: it is set up now. */
  isEnrolment?: boolean;
}

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly fields: FieldError[] = [],
    readonly retryAfter = 0,
    readonly traceId = "",
    /** A login that waits for a second factor. */
    readonly mfa: Challenge | null = null,
  ) {
    super(message);
  }
  get isOffline(): boolean {
    return this.code === "OFFLINE";
  }
}

/** Whether an error says nothing of what was asked: no network, a service that is away or busy. */
export const isPassing = (error: unknown) =>
  error instanceof ApiError && (error.isOffline || error.status >= 500 || error.status === 429);

export interface Reply<T> {
  data: T;
  etag: string | null;
  headers: Headers;
}

export interface Options {
  query?: URLSearchParams | Record<string, string>;
  json?: unknown;
  form?: FormData;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** Keeps digits that a JavaScript number would lose: `39.90` and integers beyond 2^53 arrive as texts. */
  exact?: boolean;
  /** Without the access token: the cookie says who it is. */
  isAnonymous?: boolean;
}

/** What a request was sent again for: each helps once. */
interface Tried {
  token?: boolean;
  proof?: boolean;
}

/** What api.ts needs from the session, set by session.ts: modules that import each other start in no order. */
export const hooks = {
  token: (): string | null => null,
  renew: async (): Promise<boolean> => false,
  scope: (_path: string): string | null => null,
  prove: async (): Promise<boolean> => false,
};

/** The address of the service: above the folder that this script came from, which is `console` or `account/assets`. */
const ROOT = new URL(import.meta.url.includes("/account/assets/") ? "../../" : "../", import.meta.url);

export function address(path: string, query?: Options["query"]): URL {
  const url = new URL(path.replace(/^\//, ""), ROOT);
  if (query) url.search = readable(new URLSearchParams(query));
  return url;
}

/** A query as a person would type it: the API's grammar uses commas, colons and dots, which need no escape. */
export function readable(query: URLSearchParams): string {
  return query.toString().replace(/%2C/g, ",").replace(/%3A/g, ":").replace(/%7E/g, "~");
}

export async function call<T>(method: string, path: string, options: Options = {}): Promise<Reply<T>> {
  const response = await send(method, path, options);
  const text = response.status === 204 || response.status === 304 ? "" : await whole(response.text());
  const body = parsed(text, options.exact);
  return { data: unwrapped<T>(body), etag: response.headers.get("etag"), headers: response.headers };
}

/** The response itself, for files; raises ApiError for every other status than 2xx. */
export async function send(method: string, path: string, options: Options = {}, tried: Tried = {}): Promise<Response> {
  const headers: Record<string, string> = { Accept: "application/json", ...options.headers };
  const token = options.isAnonymous ? null : hooks.token();
  if (token) headers.Authorization = `Bearer ${token}`;
  const scope = hooks.scope(path);
  if (scope) headers["X-Tenant-Scope"] = scope;
  if (options.json !== undefined) headers["Content-Type"] = "application/json";
  let response: Response;
  try {
    response = await fetch(address(path, options.query), {
      method,
      headers,
      body: options.form ?? (options.json === undefined ? undefined : JSON.stringify(options.json)),
      signal: options.signal,
      credentials: "same-origin",
    });
  } catch (error) {
    throw unreached(error);
  }
  if (response.ok) return response;
  const error = errorOf(parsed(await response.text().catch(() => "")) as never, response);
  const isProofAsked = error.code === "REAUTHENTICATION_REQUIRED";
  const isStale = response.status === 401 && token !== null && !isProofAsked;
  if (isStale && !tried.token && (await hooks.renew())) return send(method, path, options, { ...tried, token: true });
  if (isProofAsked && !tried.proof && (await hooks.prove()))
    return send(method, path, options, { ...tried, proof: true });
  throw error;
}

/** The body of a response; raises ApiError where the connection ends in its middle. */
export const whole = <T>(body: Promise<T>): Promise<T> => body.catch((error) => Promise.reject(unreached(error)));

/** What a request without an answer is told as; one that its caller stopped stays what it is. */
function unreached(error: unknown): unknown {
  return isStopped(error) ? error : new ApiError(0, "OFFLINE", "The service cannot be reached.");
}

export const isStopped = (error: unknown) => error instanceof DOMException && error.name === "AbortError";

/** The error that a body tells of; `response` is what it came in. */
export function errorOf(body: Record<string, unknown> | null, response?: Response): ApiError {
  const inner = (body?.error ?? body ?? {}) as Record<string, unknown>;
  const code = String(inner.code ?? inner.errorCode ?? "INTERNAL_ERROR");
  return new ApiError(
    response?.status ?? 400,
    code,
    answerText(code, String(inner.message ?? inner.errorMessage ?? "")),
    fieldTexts((inner.details ?? inner.errors ?? []) as FieldError[]),
    Number(response?.headers.get("retry-after") ?? 0),
    String(inner.traceId ?? response?.headers.get("x-request-id") ?? ""),
    (body?.mfa as Challenge | undefined) ?? null,
  );
}

type Source = { source?: string };

function exactNumber(_key: string, value: unknown, context?: Source): unknown {
  const source = context?.source;
  return typeof value === "number" && source && String(value) !== source ? source : value;
}

export function parsed(text: string, exact = false): unknown {
  if (!text) return null;
  try {
    return exact ? JSON.parse(text, exactNumber as (key: string, value: unknown) => unknown) : JSON.parse(text);
  } catch {
    return null;
  }
}

function unwrapped<T>(body: unknown): T {
  if (body && typeof body === "object" && "data" in body && ("success" in body || "isSuccess" in body))
    return (body as { data: T }).data;
  return body as T;
}

/** An integer for a body that keeps all its digits, where the browser can write such a number. */
export function exactInteger(text: string): unknown {
  const number = Number(text);
  if (Number.isSafeInteger(number)) return number;
  const raw = (JSON as unknown as { rawJSON?: (text: string) => unknown }).rawJSON;
  // as a text it is refused, and not rounded
  return raw ? raw(text) : text;
}

/** The `Idempotency-Key` of what a form makes: the same one until there is an answer, or until something else is sent.
 * A lost answer is asked for again by the same key, and nothing is made twice. */
export class Once {
  #what = "";
  #key = "";

  headers(what: string): Record<string, string> {
    if (!this.#key || what !== this.#what) {
      this.#what = what;
      // not randomUUID, which pages without TLS do not have
      this.#key = [...crypto.getRandomValues(new Uint8Array(16))]
        .map((byte) => byte.toString(16).padStart(2, "0"))
        .join("");
    }
    return { "Idempotency-Key": this.#key };
  }

  answered(): void {
    this.#key = "";
  }
}
