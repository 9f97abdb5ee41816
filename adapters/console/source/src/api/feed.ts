// The stream of changes of this tab: one for all screens that follow entities with a feed. It resumes where it was.
import { effect, signal } from "@preact/signals";
import { tenantId, userId } from "../session/tokens";
import { ApiError, hooks, parsed, send } from "./api";
import { type Entity, EVERY, type Row, scope } from "./meta";

export interface Change {
  entity: string;
  id: string;
  version: number;
  action: "created" | "changed" | "deleted" | "restored" | "purged" | "entered" | "left";
  by: string | null;
  changed: string[];
  data: Row | null;
  truncated?: boolean;
}

export interface Follower {
  /** Receives the changes that arrived together. */
  arrived: (changes: Change[]) => void;
  /** Changes may be missing: what is shown must be read again. */
  missed: () => void;
}

/** "none" while no screen follows an entity. */
export const feedState = signal<"none" | "on" | "catching" | "off">("none");

const PATH = "/api/changes/stream";
const SILENT = 45_000; // milliseconds without the comment that the service sends each 15 s
const HIDDEN = 10_000; // browsers open few connections to a host, and hidden tabs leave them to others
const UNUSED = 28_800_000; // without input for eight hours, a tab keeps no session alive
const LONGEST = 30_000;
const PATIENCE = 1_000; // of screens that wait for the stream before they read

const followers = new Map<Follower, string>();
let cursor = "";
let isLate = false;
let running: AbortController | null = null;
let asked = "";
let used = Date.now();
let wake = () => {};
let cut = () => {};
let opened = Promise.resolve();

const pause = (milliseconds: number) =>
  new Promise<void>((done) => {
    const timer = setTimeout(done, milliseconds);
    wake = () => (clearTimeout(timer), done());
  });

export const hasFeed = (entity: Entity) => entity.has.changes && scope.value?.id !== EVERY;

/** Follows an entity; the function that is returned ends it. */
export function follow(entity: Entity, follower: Follower): () => void {
  if (!hasFeed(entity)) return () => {};
  followers.set(follower, entity.plural);
  restart();
  return () => {
    followers.delete(follower);
    // the next screen often follows the same entity
    setTimeout(() => followers.size || stop(true), HIDDEN);
  };
}

/** Waits until rows that are read now miss no change that follows, but never long. */
export const whenOpen = (entity: Entity): Promise<unknown> =>
  hasFeed(entity) ? Promise.race([opened, new Promise((done) => setTimeout(done, PATIENCE))]) : opened;

function stop(forgets: boolean): void {
  running?.abort();
  running = null;
  asked = "";
  if (!forgets) return;
  cursor = "";
  feedState.value = "none";
}

/** Opens the stream, or opens it again where it lacks an entity. */
function restart(): void {
  const names = [...new Set(followers.values())].sort();
  if (!names.length || names.every((name) => asked.split(",").includes(name))) return;
  stop(false);
  if (document.hidden) {
    isLate ||= !cursor;
    return;
  }
  asked = names.join();
  running = new AbortController();
  void run(running.signal, asked);
}

async function run(signal: AbortSignal, entities: string): Promise<void> {
  let failures = 0;
  while (!signal.aborted) {
    const isUnused = Date.now() - used > UNUSED;
    feedState.value = failures || isUnused ? "off" : "catching";
    if (isUnused) await pause(LONGEST ** 2);
    let wait = 0;
    try {
      wait = await stream(signal, entities, () => (failures = 0));
    } catch (error) {
      if (signal.aborted) return;
      const { status, retryAfter } = error instanceof ApiError ? error : { status: 0, retryAfter: 0 };
      // no longer stored, or of a time that a restore took back
      if (status === 410 || (status === 400 && cursor)) {
        cursor = "";
        isLate = true;
        continue;
      }
      isLate ||= !cursor;
      feedState.value = "off";
      // refused for good: the service has no streams, or not for this caller
      if ([400, 403, 404].includes(status)) {
        asked = "";
        return;
      }
      wait = Math.max(retryAfter * 1_000, Math.min(LONGEST, 1_000 * 2 ** failures++)) * (0.5 + Math.random() / 2);
    }
    if (wait && !signal.aborted) await pause(wait);
  }
}

/** Reads until the stream ends; gives the milliseconds to wait before the next one. */
async function stream(signal: AbortSignal, entities: string, isOpen: () => void): Promise<number> {
  const own = new AbortController();
  const end = () => own.abort();
  cut = end;
  signal.addEventListener("abort", end);
  let timer = setTimeout(end, SILENT);
  let open = () => {};
  if (!cursor)
    opened = new Promise((done) => {
      open = done;
    });
  try {
    const query = { entities, ...(cursor && { after: cursor }) };
    const headers: Record<string, string> = { Accept: "text/event-stream" };
    if (scope.peek()) headers["X-Tenant-Scope"] = scope.peek()!.id;
    const response = await send("GET", PATH, { query, headers, signal: own.signal });
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done || own.signal.aborted) return 1_000 * Math.random();
      clearTimeout(timer);
      timer = setTimeout(end, SILENT);
      const frames = (rest + value.replace(/\r/g, "")).split("\n\n");
      rest = frames.pop()!;
      const isFirst = !cursor;
      const { changes, ending } = read(frames);
      if (!cursor) continue;
      isOpen();
      open();
      feedState.value = "on";
      if (isFirst && isLate) for (const follower of followers.keys()) follower.missed();
      isLate = false;
      for (const [follower, plural] of followers) {
        const own = changes.filter(({ entity }) => entity === plural);
        if (own.length) follower.arrived(own);
      }
      // the service still accepts a token for seconds after its end, and would end the next stream at once
      if (ending === "expired") await hooks.renew();
      // the service that ends moves all its streams: not all at once
      if (ending) return ending === "moved" ? 1_000 * Math.random() : 1;
    }
  } finally {
    open();
    clearTimeout(timer);
    end();
    signal.removeEventListener("abort", end);
  }
}

/** The changes in frames of an event stream, and the event that ends it; moves the cursor behind them. */
function read(frames: string[]): { changes: Change[]; ending: string } {
  const changes: Change[] = [];
  let ending = "";
  for (const frame of frames) {
    const fields = new Map(frame.split("\n").map((line) => line.split(/: ?(.*)/s, 2) as [string, string]));
    cursor = fields.get("id") || cursor;
    const event = fields.get("event");
    if (event === "change") changes.push(parsed(fields.get("data")!, true) as Change);
    else ending = event ?? ending;
  }
  return { changes, ending };
}

// another person, tenant or scope: nothing of what was before is of it
effect(() => {
  void [tenantId.value, userId.value, scope.value];
  stop(true);
});

const resume = () => {
  used = Date.now();
  wake();
};
for (const event of ["online", "pointerdown", "keydown"]) addEventListener(event, resume);
// browsers leave open what was open, and nothing arrives by it; where the service is reached nevertheless, it opens again
addEventListener("offline", () => cut());
let hiding = 0;
document.addEventListener("visibilitychange", () => {
  clearTimeout(hiding);
  if (document.hidden) hiding = window.setTimeout(() => stop(false), HIDDEN);
  else restart();
});
