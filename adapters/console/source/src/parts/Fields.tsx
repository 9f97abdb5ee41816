// Fields of the administration's forms, and their sending: errors at their fields, one request at a time.
import { type ComponentChildren, h } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { ApiError } from "../api/api";
import { t } from "../words/words";
import { errorText } from "./Toast";
import { useUnsaved } from "./unsaved";

export interface Sending {
  isBusy: boolean;
  summary: string;
  problems: Record<string, string>;
  /** Fields that show their problem themselves. */
  shown: Set<string>;
  run: (work: () => Promise<void>) => Promise<void>;
}

export function useSending(): Sending {
  const [isBusy, setBusy] = useState(false);
  const [summary, setSummary] = useState("");
  const [problems, setProblems] = useState<Record<string, string>>({});
  const [shown] = useState(() => new Set<string>());
  async function run(work: () => Promise<void>): Promise<void> {
    if (isBusy) return;
    setBusy(true);
    setSummary("");
    setProblems({});
    try {
      await work();
    } catch (error) {
      const fields = error instanceof ApiError ? error.fields : [];
      // an entry of a list has its error at the field of the list
      setProblems(Object.fromEntries(fields.map(({ field, message }) => [field.replace(/\[\d+\]$/, ""), message])));
      setSummary(fields.length ? t("form.wrong", { count: fields.length }) : errorText(error));
    }
    setBusy(false);
  }
  return { isBusy, summary, problems, shown, run };
}

export interface TextProps {
  label: string;
  name: string;
  value: string;
  change: (value: string) => void;
  sending?: Sending;
  type?: "text" | "email" | "password" | "tel" | "url" | "datetime-local";
  hint?: string;
  required?: boolean;
  autocomplete?: string;
  disabled?: boolean;
  /** Id of a list of known values. */
  list?: string;
  /** A control next to the input. */
  more?: ComponentChildren;
}

export function TextField({ label, name, value, change, sending, type = "text", hint, required, ...more }: TextProps) {
  const id = useId();
  const problem = sending?.problems[name];
  sending?.shown.add(name);
  const described = [hint && `${id}-hint`, problem && `${id}-problem`].filter(Boolean).join(" ") || undefined;
  const input = h("input", {
    id,
    type,
    name,
    dir: "auto",
    value,
    "aria-describedby": described,
    "aria-invalid": problem ? true : undefined,
    "aria-required": required || undefined,
    onInput: (event: { currentTarget: HTMLInputElement }) => change(event.currentTarget.value),
    autocomplete: more.autocomplete ?? "off",
    disabled: more.disabled,
    list: more.list,
  });
  return (
    <div class="field">
      <label for={id}>
        {label}
        {required && <span aria-hidden="true"> *</span>}
      </label>
      {more.more ? (
        <span class="beside">
          {input}
          {more.more}
        </span>
      ) : (
        input
      )}
      {problem && (
        <span class="problem" id={`${id}-problem`}>
          {problem}
        </span>
      )}
      {hint && (
        <span class="hint small" id={`${id}-hint`}>
          {hint}
        </span>
      )}
    </div>
  );
}

type Texts<T> = { [name in keyof T]: string };

/** The texts of a form by the names that errors have, and its sending; `field` makes the input of one of them. */
export function useTexts<T extends Texts<T>>(given: T, mayWrite = true) {
  const [start, setStart] = useState(given);
  const [texts, setTexts] = useState(given);
  const sending = useSending();
  const names = Object.keys(start) as (keyof T)[];
  useUnsaved(mayWrite && names.some((name) => texts[name] !== start[name]));
  /** Takes what the service has stored of what was sent; what was typed meanwhile stays. */
  function stored(next: T): void {
    setStart(next);
    setTexts((now) => {
      const kept = names.filter((name) => now[name] !== texts[name]).map((name) => [name, now[name]]);
      return { ...next, ...Object.fromEntries(kept) };
    });
  }
  const props = (name: keyof T & string, label: string): TextProps => ({
    label,
    name,
    value: texts[name],
    change: (value) => setTexts((now) => ({ ...now, [name]: value })),
    sending,
    disabled: !mayWrite,
  });
  const field = (name: keyof T & string, label: string, more: Partial<TextProps> = {}) => (
    <TextField {...props(name, label)} {...more} />
  );
  return { texts, sending, field, props, stored };
}

/** How many fields need attention, and what is wrong with those that the form does not show. */
export function Summary({ sending: { summary, problems, shown } }: { sending: Sending }) {
  const elsewhere = Object.entries(problems).filter(([field]) => !shown.has(field));
  return (
    <Refusal text={summary && [summary, ...elsewhere.map(([field, message]) => `${field}: ${message}`)].join(" ")} />
  );
}

/** Why a form was refused, at its top. The focus goes to the first field that is wrong; without one, the reason is
 * scrolled into sight: who sent a long form is at its end. */
export function Refusal({ text }: { text: string }) {
  const box = useRef<HTMLParagraphElement>(null);
  useEffect(() => {
    if (!text) return;
    const wrong = box.current?.closest("form")?.querySelector<HTMLElement>("[aria-invalid=true]");
    if (wrong) wrong.focus();
    else box.current?.scrollIntoView({ block: "nearest" });
  }, [text]);
  return text ? (
    <p ref={box} class="summary" role="alert">
      {text}
    </p>
  ) : null;
}
