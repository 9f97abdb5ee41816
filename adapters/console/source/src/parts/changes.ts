// Whether the fields of a form hold something else than when somebody came to it.
import type { RefObject } from "preact";
import { useRef } from "preact/hooks";

type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

const CONTROLS = "input:not([type=search]), select, textarea";

const heldBy = (control: Control) =>
  control instanceof HTMLInputElement && /checkbox|radio/.test(control.type) ? String(control.checked) : control.value;

/** What fields hold is looked at before each touch, since some of them come later than the form, as its lists do. */
export function useChanges(form: RefObject<HTMLElement | null>) {
  const before = useRef(new Map<Control, string>());
  function look(): void {
    for (const control of form.current?.querySelectorAll<Control>(CONTROLS) ?? [])
      if (!before.current.has(control)) before.current.set(control, heldBy(control));
  }
  const isChanged = () =>
    [...before.current].some(([control, held]) => control.isConnected && heldBy(control) !== held);
  return { isChanged, watching: { onFocusIn: look, onPointerDown: look } };
}
