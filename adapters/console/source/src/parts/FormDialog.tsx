// A form in a dialog: sent once at a time, errors at their fields, closed once it is stored.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
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
  const [isTouched, setTouched] = useState(false);
  const stored = useUnsaved(isTouched);
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
    <Dialog title={title} onClose={onClose}>
      <form class="section" onSubmit={run} onInput={() => setTouched(true)} noValidate aria-busy={sending.isBusy}>
        <Summary sending={sending} />
        {children(sending)}
        <button type="submit" class="primary" disabled={sending.isBusy || !isReady}>
          {submit}
        </button>
      </form>
    </Dialog>
  );
}
