// The frame of one step: its heading, what went wrong, and forms that are sent once at a time.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../api/api";
import { Submit } from "../parts/Button";
import { Title } from "../parts/Title";
import { errorText } from "../parts/Toast";
import { type Key, t } from "../words/words";

export interface Work {
  isBusy: boolean;
  error: string;
  /** `refused` names the text for credentials that open no account. */
  run: (work: () => Promise<unknown>, refused?: Key) => Promise<void>;
}

/** Runs one request at a time and keeps what went wrong. */
export function useWork(): Work {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState("");
  async function run(work: () => Promise<unknown>, refused?: Key): Promise<void> {
    if (isBusy) return;
    setBusy(true);
    setError("");
    try {
      await work();
    } catch (problem) {
      setError(refusalText(problem, refused));
    }
    setBusy(false);
  }
  return { isBusy, error, run };
}

/** Why something was refused, in whole sentences that name the fields. */
function refusalText(error: unknown, refused?: Key): string {
  if (!(error instanceof ApiError)) return errorText(error);
  if (refused && error.code === "INVALID_CREDENTIALS") return t(refused);
  const sentences = error.fields.map(({ field, message }) => t("field.is", { field: fieldText(field), message }));
  return sentences.join(" ") || errorText(error);
}

function fieldText(field: string): string {
  const key = `field.${field}`;
  const text = t(key as Key);
  return text === key ? field : text;
}

/** Tells what went wrong or what is done. It takes the focus, so that a reader is at it, wherever they were. */
export function Told({ text, isGood }: { text: string; isGood?: boolean }) {
  const box = useRef<HTMLParagraphElement>(null);
  useEffect(() => box.current?.focus(), [text]);
  return text ? (
    <p ref={box} class={isGood ? "told good" : "told bad"} role={isGood ? "status" : "alert"} tabIndex={-1}>
      {text}
    </p>
  ) : null;
}

interface StepProps {
  title: string;
  work: Work;
  /** What is told when the step begins, such as why it begins again. */
  told?: string;
  /** Puts the focus into the first field; "later" does so behind another step alone. */
  focus?: "always" | "later" | "never";
  children: ComponentChildren;
}

/** Whether a step was shown before: a page that is opened has the focus nowhere. */
let isLater = false;

export function Step({ title, work, told = "", focus = "later", children }: StepProps) {
  const box = useRef<HTMLElement>(null);
  const text = work.error || (work.isBusy ? "" : told);
  useEffect(() => {
    const takes = focus === "always" || (focus === "later" && isLater);
    isLater = true;
    if (!takes || box.current?.querySelector(".told")) return;
    box.current?.querySelector<HTMLElement>("input:not([readonly]), pre, button, a")?.focus();
  }, []);
  return (
    <section ref={box} class="step" aria-busy={work.isBusy}>
      <Title isStep={focus === "never"}>{title}</Title>
      <Told text={text} />
      {children}
    </section>
  );
}

interface FormProps {
  work: Work;
  send: () => Promise<unknown>;
  /** Text of the button that sends. */
  submit: string;
  /** Another way to do what the step is for. */
  isSecond?: boolean;
  children?: ComponentChildren;
}

/** The browser tells nothing of what is wrong: it would do so in its own language, in a bubble that goes away. */
export function Form({ work, send, submit, isSecond, children }: FormProps) {
  function sent(event: Event): void {
    event.preventDefault();
    void work.run(send);
  }
  return (
    <form class="step" onSubmit={sent} noValidate>
      {children}
      <Submit class={isSecond ? "block" : "primary block"} isResting={work.isBusy}>
        {submit}
      </Submit>
    </form>
  );
}
