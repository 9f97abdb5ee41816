// A form in a dialog: sent once at a time, errors at their fields, closed once it is stored.
import type { ComponentChildren, RefObject } from "preact";
import { useRef, useState } from "preact/hooks";
import { Submit } from "./Button";
import { Dialog } from "./Dialog";
import { type Sending, Summary, useSending } from "./Fields";
import { useUnsaved } from "./unsaved";

interface Props<T> {
  title: string;
  /** Text of the button that sends. */
  submit: string;
  onClose: () => void;
  send: () => Promise<T>;
  /** What follows once the dialog is closed. */
  done?: (result: T) => unknown;
  isReady?: boolean;
  children: (sending: Sending) => ComponentChildren;
}

export function FormDialog<T>({ title, submit, onClose, send, done, isReady = true, children }: Props<T>) {
  const sending = useSending();
  const form = useRef<HTMLFormElement>(null);
  const { isChanged, watching } = useChanges(form);
  const [isDirty, setDirty] = useState(false);
  const stored = useUnsaved(isDirty);
  function run(event: Event): void {
    event.preventDefault();
    void sending.run(async () => {
      const result = await send();
      stored();
      onClose();
      await done?.(result);
    });
  }
  return (
    <Dialog title={title} onClose={onClose} isChanged={isChanged}>
      <form
        ref={form}
        class="section"
        onSubmit={run}
        onInput={() => setDirty(isChanged())}
        {...watching}
        noValidate
        aria-busy={sending.isBusy}
      >
        <Summary sending={sending} />
        {children(sending)}
        <Submit isResting={sending.isBusy || !isReady}>{submit}</Submit>
      </form>
    </Dialog>
  );
}

type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

const CONTROLS = "input:not([type=search]), select, textarea";

const heldBy = (control: Control) =>
  control instanceof HTMLInputElement && /checkbox|radio/.test(control.type) ? String(control.checked) : control.value;

/** Whether the fields of a form hold something else than when somebody came to it. What they hold is looked at before
 * each touch, since some of them come later than the form, as its lists do. */
function useChanges(form: RefObject<HTMLElement | null>) {
  const before = useRef(new Map<Control, string>());
  function look(): void {
    for (const control of form.current?.querySelectorAll<Control>(CONTROLS) ?? [])
      if (!before.current.has(control)) before.current.set(control, heldBy(control));
  }
  const isChanged = () =>
    [...before.current].some(([control, held]) => control.isConnected && heldBy(control) !== held);
  return { isChanged, watching: { onFocusIn: look, onPointerDown: look } };
}
