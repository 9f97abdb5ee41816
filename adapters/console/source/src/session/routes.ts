// Addresses of the console: /console/<screen>/…, behind the path of the service where a proxy gives it one; links are
// ordinary links, and this module follows them.
import { computed, signal } from "@preact/signals";
import { readable } from "../api/api";

/** The folder that this script came from. */
const BASE = new URL("./", import.meta.url).pathname;
const here = () => ({
  path: `${location.pathname}/` === BASE ? BASE : location.pathname,
  search: location.search,
});

export const current = signal(here());
export const query = computed(() => new URLSearchParams(current.value.search));
/** Parts of the path behind /console/: ["rows", "products", "new"]. */
export const parts = computed(() => current.value.path.slice(BASE.length).split("/").filter(Boolean).map(decoded));

/** A part that is no text, such as `%E0%A4%A`, stays as it is: no screen and no row has that name. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Forms with unsaved changes, each by the question whether one may leave. */
export const unsaved = new Set<() => Promise<boolean>>();

/** One question stands for all forms of a screen. */
export async function mayLeave(): Promise<boolean> {
  const [question] = unsaved;
  return !question || question();
}

/** Set when the address leads to another screen: its heading takes the focus once, whenever it appears. */
export const arrival = { isNew: false };

export const href = (...steps: string[]) => BASE + steps.map(encodeURIComponent).join("/");

/** Parameters of a row beside a grid, and of its tab there. */
export const ROW = "~row";
export const ROW_TAB = "~tab";
/** Parameters that choose what a form is about. */
const PARTS = ["tab", ROW, ROW_TAB];

/** The address of the screen with other values of some parameters; null takes one away. */
export function hereWith(values: Record<string, string | null>): string {
  const asked = new URLSearchParams(query.value);
  for (const [name, value] of Object.entries(values)) value === null ? asked.delete(name) : asked.set(name, value);
  const text = readable(asked);
  return current.value.path + (text && `?${text}`);
}

/** Whether what is typed would not be seen there: another screen, another row, or another tab of the same row. */
function leaves(url: URL | Location): boolean {
  const asked = new URLSearchParams(url.search);
  return url.pathname !== current.peek().path || PARTS.some((name) => asked.get(name) !== query.peek().get(name));
}

/** Leads to the address; false where somebody stays because of unsaved changes. */
export async function go(to: string, replace = false): Promise<boolean> {
  const url = new URL(to, location.origin);
  if (url.origin !== location.origin || !url.pathname.startsWith(BASE)) return false;
  if (!replace && leaves(url) && !(await mayLeave())) return false;
  history[replace ? "replaceState" : "pushState"](null, "", url.pathname + url.search);
  moved();
  return true;
}

/** Leads to a list from what was deleted: nothing of it can be saved any more. */
export async function gone(...steps: string[]): Promise<void> {
  unsaved.clear();
  await go(href(...steps));
}

/** The browser went back or forward already: where a form asks first, its address stands there until the answer. */
async function popped(): Promise<void> {
  if (!unsaved.size || !leaves(location)) return moved();
  const { path, search } = current.peek();
  history.pushState(null, "", path + search);
  if (!(await mayLeave())) return;
  unsaved.clear();
  history.back();
}

function moved(): void {
  const before = current.peek();
  current.value = here();
  if (before.path !== current.peek().path) {
    scrollTo(0, 0);
    arrival.isNew = true;
  }
}

export function listen(): void {
  addEventListener("popstate", () => void popped());
  document.addEventListener("click", (event) => {
    const link = (event.target as Element).closest?.("a[href]");
    if (!(link instanceof HTMLAnchorElement) || event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || link.target || link.download) return;
    const url = new URL(link.href);
    if (url.origin !== location.origin || !url.pathname.startsWith(BASE)) return;
    event.preventDefault();
    void go(url.pathname + url.search);
  });
}
