// Native <dialog>: the browser keeps the focus inside. Escape and the cross close it, and ask where something is lost.
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { t } from "../words/words";
import { Icon } from "./Icon";

interface Props {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  actions?: ComponentChildren;
  side?: boolean;
  wide?: boolean;
  /** Shows what is shown once: neither a click beside the dialog nor Escape closes it. */
  keeps?: boolean;
  /** Whether something is typed or chosen that is lost when the dialog closes. */
  isChanged?: () => boolean;
}

/** What has the focus in a new dialog: its first field; else the way back, and then what it offers. Browsers take the
 * cross, and Enter would close what somebody types into. */
const FIRST = [".dialog-body :is(input, select, textarea):enabled", "footer button", ".dialog-body button"];

export function Dialog({ title, onClose, children, actions, side, wide, keeps, isChanged }: Props) {
  const box = useRef<HTMLDialogElement>(null);
  const isPressedBeside = useRef(false);
  const isTouched = useRef(false);
  const isAsking = useRef(false);
  const id = useId();
  useEffect(() => {
    const before = document.activeElement;
    box.current?.showModal();
    const first = FIRST.map((what) => box.current?.querySelector<HTMLElement>(what)).find((found) => found);
    first?.focus();
    return () => {
      // what was saved meanwhile is not asked about any more
      if (isAsking.current) question.peek()?.answer(false);
      if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
    };
  }, []);
  async function dismiss(): Promise<void> {
    if (isChanged?.()) {
      isAsking.current = true;
      const isGiven = await ask(t("leave.title"), t("leave.text"), t("leave.yes"));
      isAsking.current = false;
      if (!isGiven) return;
    }
    box.current?.close();
  }
  /** Before the browser: it asks no page about an Escape after some others without a click between. */
  function leave(event: KeyboardEvent): void {
    if (event.key !== "Escape" || event.isComposing) return;
    event.preventDefault();
    if (!keeps) void dismiss();
  }
  /** The gesture back of a telephone; the event of an input of a file is another one. */
  function cancel(event: Event): void {
    if (event.target !== box.current) return;
    event.preventDefault();
    if (!keeps) void dismiss();
  }
  /** Closes by a click beside the box. One that began inside, to select a text, is none, and nothing typed is lost. */
  function beside(event: Event): void {
    const isBeside = isPressedBeside.current && event.target === box.current;
    if (isBeside && !keeps && !isTouched.current) box.current?.close();
  }

  return (
    <dialog
      ref={box}
      aria-labelledby={id}
      class={`${side ? "drawer" : "box"} ${wide ? "wide" : ""}`}
      onClose={onClose}
      onCancel={cancel}
      onKeyDown={leave}
      onInput={() => (isTouched.current = true)}
      onPointerDown={(event) => (isPressedBeside.current = event.target === box.current)}
      onClick={beside}
    >
      <div class="dialog">
        <header>
          <h2 id={id}>{title}</h2>
          <button type="button" class="plain square" aria-label={t("close")} onClick={() => void dismiss()}>
            <Icon name="x" />
          </button>
        </header>
        <div class="dialog-body">{children}</div>
        {actions && <footer>{actions}</footer>}
      </div>
    </dialog>
  );
}

interface Question {
  id: number;
  title: string;
  text: string;
  yes: string;
  isDanger: boolean;
  answer: (yes: boolean) => void;
}

const question = signal<Question | null>(null);
let last = 0;

/** Asks before something that cannot be taken back. */
export function ask(title: string, text: string, yes: string, isDanger = true): Promise<boolean> {
  // of two at the same time the later one is shown
  question.peek()?.answer(false);
  return new Promise((resolve) => {
    const id = ++last;
    const answer = (value: boolean) => {
      // a dialog that closes tells it a moment later, when another question may be there
      if (question.peek()?.id === id) question.value = null;
      resolve(value);
    };
    question.value = { id, title, text, yes, isDanger, answer };
  });
}

export function Questions() {
  const asked = question.value;
  if (!asked) return null;
  return (
    <Dialog
      key={asked.id}
      title={asked.title}
      onClose={() => asked.answer(false)}
      actions={
        <>
          <button type="button" onClick={() => asked.answer(false)}>
            {t("cancel")}
          </button>
          <button type="button" class={asked.isDanger ? "danger" : "primary"} onClick={() => asked.answer(true)}>
            {asked.yes}
          </button>
        </>
      }
    >
      <p>{asked.text}</p>
    </Dialog>
  );
}
