// One input per kind of field, with its label, its help and its error.
import { type ComponentChildren, h } from "preact";
import { useId, useRef } from "preact/hooks";
import { choiceOf, choicesOf, type Entity, entityOf, type Field, isFile, type Row } from "../api/meta";
import { safeLink, titleOf } from "../grid/cells";
import { Icon } from "../parts/Icon";
import { lazy } from "../parts/lazy";
import { t } from "../words/words";
import type { FilesProps } from "./files";
import { Links, Reference } from "./reference";
import { isList } from "./values";

const Files = lazy<FilesProps>(async () => (await import("./files")).default);

interface Props {
  /** Where a field with files is: files are uploaded for an entity, and read from a row. */
  of?: { entity: Entity; row: Row | null };
  field: Field;
  value: unknown;
  change: (value: unknown) => void;
  problem?: string;
  disabled?: boolean;
}

const isLong = (field: Field) => field.widget === "multiline" || isList(field);
export const isWide = (field: Field) => isLong(field);

export function Input({ of, field, value, change, problem, disabled }: Props) {
  const id = useId();
  const target = field.kind === "links" && field.target ? entityOf(field.target) : undefined;
  const hint = target || isFile(field) ? (field.help ?? "") : hintOf(field);
  const described = [hint && `${id}-hint`, problem && `${id}-problem`].filter(Boolean).join(" ") || undefined;
  const common = {
    id,
    disabled,
    name: field.name,
    "aria-describedby": described,
    "aria-invalid": problem ? (true as const) : undefined,
    "aria-required": field.required || undefined,
  };
  if (of && isFile(field))
    return (
      <Frame field={field} hint={hint} problem={problem} id={id} hasOwnLabel>
        <Files
          {...of}
          field={field}
          label={`${titleOf(field)}${field.required ? " *" : ""}`}
          ids={idsOf(value)}
          change={(ids) => change(ids.join("\n"))}
          describedBy={described}
          disabled={disabled}
        />
      </Frame>
    );
  if (field.kind === "reference")
    return (
      <Frame field={field} hint={hint} problem={problem} id={id} hasOwnLabel>
        <Reference
          field={field}
          label={`${titleOf(field)}${field.required ? " *" : ""}`}
          value={value ? String(value) : null}
          change={(next) => change(next ?? "")}
          describedBy={described}
          isInvalid={!!problem}
          disabled={disabled}
        />
      </Frame>
    );
  if (target)
    return (
      <Frame field={field} hint={hint} problem={problem} id={id} hasOwnLabel>
        <Links
          field={field}
          target={target}
          label={titleOf(field)}
          ids={idsOf(value)}
          change={(ids) => change(ids.join("\n"))}
          describedBy={described}
          isInvalid={!!problem}
          disabled={disabled}
        />
      </Frame>
    );
  return (
    <Frame field={field} hint={hint} problem={problem} id={id}>
      <Control field={field} value={value} change={change} common={common} disabled={disabled} />
    </Frame>
  );
}

const idsOf = (value: unknown) =>
  String(value ?? "")
    .split("\n")
    .filter(Boolean);

interface FrameProps {
  field: Field;
  hint: string;
  problem?: string;
  id: string;
  hasOwnLabel?: boolean;
  children: ComponentChildren;
}

function Frame({ field, hint, problem, id, hasOwnLabel, children }: FrameProps) {
  return (
    <div class={isWide(field) ? "field full" : "field"}>
      {!hasOwnLabel && (
        <label for={id}>
          <bdi>{titleOf(field)}</bdi>
          {field.required && <span aria-hidden="true"> *</span>}
        </label>
      )}
      {children}
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

/** What the field takes, in a few words: the declared help, else the bounds. */
function hintOf(field: Field): string {
  if (field.help) return field.help;
  // the bounds of 32 and 64 bits were declared by nobody
  const isDeclared = (bound: unknown) => bound !== undefined && !(Math.abs(Number(bound)) >= 2 ** 31 - 1);
  const { minimum, maximum } = field.rules;
  if (isList(field)) return t("hint.lines");
  if (!isDeclared(minimum)) return "";
  return isDeclared(maximum)
    ? t("hint.between", { low: String(minimum), high: String(maximum) })
    : t("hint.from", { low: String(minimum) });
}

type Common = Record<string, unknown>;

function Control({ field, value, change, common, disabled }: Props & { common: Common }) {
  const onInput = (event: { currentTarget: { value: string } }) => change(event.currentTarget.value);
  const text = String(value ?? "");
  const choices = choicesOf(field);
  // an input of one line would take line breaks away; it stays of several lines when the last break is deleted
  const hasLines = useRef(false);
  hasLines.current ||= field.kind === "text" && text.includes("\n");
  if (field.kind === "boolean" && !field.nullable)
    return (
      <span class="check">
        <input type="checkbox" {...common} checked={value === true} onChange={() => change(value !== true)} />
      </span>
    );
  if (field.kind === "boolean" || choices.length)
    return (
      <select {...common} value={text} onChange={onInput}>
        {(field.nullable || field.required || text === "") && (
          <option value="">{field.nullable ? t("value.none") : ""}</option>
        )}
        {(choices.length ? choices : ["true", "false"]).map((choice) => (
          <option key={choice} value={choice}>
            {choices.length ? choiceOf(field, choice).label : t(choice === "true" ? "yes" : "no")}
          </option>
        ))}
      </select>
    );
  if (isLong(field) || hasLines.current)
    return <textarea {...common} dir="auto" rows={5} value={text} onInput={onInput} />;
  if (field.widget === "color")
    return (
      // as a text it can be none at all, and be taken away again
      <span class="beside">
        {h("input", { ...common, ...extras(field), type: "text", value: text, onInput, placeholder: "#rrggbb" })}
        <input
          type="color"
          aria-label={t("color.pick", { name: titleOf(field) })}
          disabled={disabled}
          value={/^#[0-9a-f]{6}$/i.test(text) ? text : "#ffffff"}
          onInput={onInput}
        />
      </span>
    );
  if (field.widget === "url" && safeLink(text))
    return (
      <span class="beside">
        <input type="url" {...common} value={text} onInput={onInput} />
        <a class="button" href={safeLink(text) ?? ""} target="_blank" rel="noopener noreferrer" aria-label={t("open")}>
          <Icon name="external-link" />
        </a>
      </span>
    );
  // by its name: Preact types each type of input apart, and this one is of several
  return h("input", {
    type: TYPES[field.kind] ?? "text",
    dir: "auto",
    ...common,
    ...extras(field),
    value: text,
    onInput,
  });
}

const TYPES: Partial<Record<string, "date" | "datetime-local">> = { date: "date", timestamp: "datetime-local" };

function extras(field: Field): Common {
  const more: Common = { autocomplete: "off" };
  if (field.kind === "timestamp") more.step = 1;
  if (/integer/i.test(field.kind)) more.inputMode = "numeric";
  if (field.kind === "decimal" || field.kind === "float") more.inputMode = "decimal";
  if (field.kind === "text" && field.rules.maxLength) more.maxLength = field.rules.maxLength;
  return more;
}
