// Changes that are not saved: before somebody leaves them, they are asked.
import { useEffect } from "preact/hooks";
import { unsaved } from "../session/routes";
import { t } from "../words/words";
import { ask } from "./Dialog";

/** Asks before somebody leaves the screen, or the page, as long as a form is dirty. */
export function useUnsaved(isDirty: boolean): void {
  useEffect(() => {
    if (!isDirty) return;
    const leave = (event: BeforeUnloadEvent) => event.preventDefault();
    const question = () => ask(t("leave.title"), t("leave.text"), t("leave.yes"));
    addEventListener("beforeunload", leave);
    unsaved.add(question);
    return () => {
      removeEventListener("beforeunload", leave);
      unsaved.delete(question);
    };
  }, [isDirty]);
}
