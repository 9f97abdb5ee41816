// Changes that are not saved: before somebody leaves them, they are asked.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { unsaved } from "../session/routes";
import { type Key, t } from "../words/words";
import { ask } from "./Dialog";
import { focusScreen } from "./focus";

/** Asks before somebody leaves the screen, or the page, as long as a form is dirty. The function that is returned says
 * that it is stored, for those who then go on at once. */
export function useUnsaved(isDirty: boolean, title: Key = "leave.title", text: Key = "leave.text"): () => void {
  const settle = useRef(() => {});
  // with the change itself, not a frame later: nobody leaves in between
  useLayoutEffect(() => {
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

/** The focus goes back to the button that something began with; where that is gone, to what the screen is about. */
function focusAgain(button: HTMLElement): void {
  button.focus();
  if (document.activeElement === button && button !== document.body) return;
  focusScreen();
}

/** A request that takes long: it stops by a button, and with the screen, which asks before. The buttons for it come and
 * go, or rest meanwhile, and the focus would be lost with them. */
export function useRunning(title: Key, text: Key) {
  const [isBusy, setBusy] = useState(false);
  const running = useRef<AbortController | null>(null);
  const began = useRef<HTMLElement | null>(null);
  const stop = () => running.current?.abort();
  useUnsaved(isBusy, title, text);
  useEffect(() => stop, []);
  // at once: what is left without the focus is given to a neighbour otherwise
  useLayoutEffect(() => {
    const button = began.current;
    if (isBusy || !button) return;
    began.current = null;
    // whoever went on to something else stays there
    if (document.activeElement === document.body) focusAgain(button);
  }, [isBusy]);
  function begin(): AbortSignal {
    began.current = document.activeElement instanceof HTMLElement ? document.activeElement : null;
    setBusy(true);
    running.current = new AbortController();
    return running.current.signal;
  }
  return { isBusy, begin, end: () => setBusy(false), stop };
}
