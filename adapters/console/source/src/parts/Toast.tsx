// Short messages at the edge, read out by a live region; and the one place that screens tell results to listeners.
import { signal } from "@preact/signals";
import { ApiError, isStopped } from "../api/api";
import { type Key, t } from "../words/words";
import { Icon } from "./Icon";

interface Message {
  id: number;
  text: string;
  isError: boolean;
  action?: Action;
}

/** What one can do about a message, such as undoing. */
export interface Action {
  text: string;
  run: () => void;
}

const shown = signal<Message[]>([]);
const said = signal("");
let last = 0;

export function toast(text: string, isError = false, action?: Action): void {
  const id = ++last;
  shown.value = [...shown.value.slice(-2), { id, text, isError, action }];
  if (!isError) setTimeout(() => dismiss(id), action ? 12_000 : 6_000);
}

/** For listeners alone: how many rows there are, which row is active. */
export const say = (text: string) => {
  said.value = text;
};

const dismiss = (id: number) => {
  shown.value = shown.value.filter((message) => message.id !== id);
};

/** What went wrong, in the reader's language where the console knows the code. */
export function errorText(error: unknown): string {
  if (!(error instanceof ApiError)) return error instanceof Error ? error.message : String(error);
  if (error.isOffline) return t("error.offline");
  if (error.status === 429) return t("error.limited", { seconds: error.retryAfter || 60 });
  // a failure without the id of a request is of a proxy that reaches no service
  if (error.status >= 500 && error.code !== "SERVICE_UNAVAILABLE")
    return error.traceId ? t("error.server", { id: error.traceId }) : t("error.offline");
  return error.message || t("error.unknown");
}

/** The same with what is wrong with each field; `name` says how the screen calls the field. */
export function reasonText(error: unknown, name = (field: string) => field): string {
  const fields = error instanceof ApiError ? error.fields : [];
  const reasons = fields.map(({ field, message }) => `${name(field)}: ${message}`);
  return [errorText(error), reasons.join("; ")].filter(Boolean).join(" ");
}

export const failed = (error: unknown) => {
  if (!isStopped(error)) toast(errorText(error), true);
};

/** Does what a button asks for; what goes wrong is told at the edge. True once it is done. */
export async function attempt(work: () => Promise<unknown>, done?: Key): Promise<boolean> {
  try {
    await work();
    if (done) toast(t(done));
    return true;
  } catch (error) {
    failed(error);
    return false;
  }
}

export function Toasts() {
  return (
    <>
      <div class="toasts" role="status" aria-live="polite">
        {shown.value.map((message) => (
          <div key={message.id} class={message.isError ? "toast bad" : "toast"}>
            <Icon name={message.isError ? "circle-alert" : "circle-check"} />
            <span>{message.text}</span>
            {message.action && (
              <button type="button" onClick={() => (dismiss(message.id), message.action?.run())}>
                {message.action.text}
              </button>
            )}
            <button type="button" class="plain square" aria-label={t("close")} onClick={() => dismiss(message.id)}>
              <Icon name="x" />
            </button>
          </div>
        ))}
      </div>
      <div class="unseen" aria-live="polite">
        {said.value}
      </div>
    </>
  );
}
