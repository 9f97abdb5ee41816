// Changes that are not saved: before somebody leaves them, they are asked.
import { useEffect, useRef, useState } from "preact/hooks";
import { unsaved } from "../session/routes";
import { type Key, t } from "../words/words";
import { ask } from "./Dialog";

/** Asks before somebody leaves the screen, or the page, as long as a form is dirty. The function that is returned says
 * that it is stored, for those who then go on at once. */
export function useUnsaved(isDirty: boolean, title: Key = "leave.title", text: Key = "leave.text"): () => void {
  const settle = useRef(() => {});
  useEffect(() => {
    if (!isDirty) return;
    const leave = (event: BeforeUnloadEvent) => event.preventDefault();
    const question = () => ask(t(title), t(text), t("leave.yes"));
    addEventListener("beforeunload", leave);
    unsaved.add(question);
    settle.current = () => {
      removeEventListener("beforeunload", leave);
      unsaved.delete(question);
    };
    return () => settle.current();
  }, [isDirty]);
  return () => settle.current();
}

/** A request that takes long: it stops by a button, and with the screen, which asks before. */
export function useRunning(title: Key, text: Key) {
  const [isBusy, setBusy] = useState(false);
  const running = useRef<AbortController | null>(null);
  const stop = () => running.current?.abort();
  useUnsaved(isBusy, title, text);
  useEffect(() => stop, []);
  function begin(): AbortSignal {
    setBusy(true);
    running.current = new AbortController();
    return running.current.signal;
  }
  return { isBusy, begin, end: () => setBusy(false), stop };
}
