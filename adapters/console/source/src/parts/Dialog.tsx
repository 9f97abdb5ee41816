// Native <dialog>: the browser keeps the focus inside, closes on Escape and gives the focus back.
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
}

export function Dialog({ title, onClose, children, actions, side, wide, keeps }: Props) {
  const box = useRef<HTMLDialogElement>(null);
  const isPressedBeside = useRef(false);
  const isTouched = useRef(false);
  const id = useId();
  useEffect(() => {
    const before = document.activeElement;
    box.current?.showModal();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
    };
  }, []);
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
      onCancel={(event) => keeps && event.preventDefault()}
      onInput={() => (isTouched.current = true)}
      onPointerDown={(event) => (isPressedBeside.current = event.target === box.current)}
      onClick={beside}
    >
      <div class="dialog">
        <header>
          <h2 id={id}>{title}</h2>
          <button type="button" class="plain square" aria-label={t("close")} onClick={() => box.current?.close()}>
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
  title: string;
  text: string;
  yes: string;
  isDanger: boolean;
  answer: (yes: boolean) => void;
}

const question = signal<Question | null>(null);

/** Asks before something that cannot be taken back. */
export function ask(title: string, text: string, yes: string, isDanger = true): Promise<boolean> {
  return new Promise((resolve) => {
    const answer = (value: boolean) => {
      question.value = null;
      resolve(value);
    };
    question.value = { title, text, yes, isDanger, answer };
  });
}

export function Questions() {
  const asked = question.value;
  if (!asked) return null;
  return (
    <Dialog
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
