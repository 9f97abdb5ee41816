// What the API says is wrong, in the reader's language: its sentences are translated by their English text, as gettext
// does. What nobody translated, such as the sentence of a project's own rule, stays as it is.
import { computed } from "@preact/signals";
import type { FieldError } from "../api/types";
import { answers, codeText } from "./words";

const PLACE = /\{(\w+)\}/g;

/** Sentences with places, such as `takes {shortest} to {longest} characters`, as patterns of what stands there. */
const patterns = computed(() =>
  Object.entries(answers.value ?? {})
    .filter(([sentence]) => sentence.includes("{"))
    .map(([sentence, text]) => ({ pattern: patternOf(sentence), text })),
);

function patternOf(sentence: string): RegExp {
  // the odd pieces are the names of places
  const pieces = sentence.split(PLACE).map((piece, at) => (at % 2 ? `(?<${piece}>.+?)` : escaped(piece)));
  return new RegExp(`^${pieces.join("")}$`, "s");
}

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

function translated(sentence: string): string | null {
  const known = answers.value?.[sentence];
  if (known !== undefined) return known;
  for (const { pattern, text } of patterns.value) {
    const found = pattern.exec(sentence)?.groups;
    if (found) return text.replace(PLACE, (_, name) => valueText(found[name] ?? ""));
  }
  return null;
}

/** What stands in a place: a number or a name as it is, a kind of value such as `text or null` translated. */
function valueText(value: string): string {
  const kinds = value.split(" or ").map((kind) => answers.value?.[kind] ?? kind);
  return kinds.join(` ${answers.value?.or} `);
}

/** A sentence of the API; an unknown one stands behind the words for its code, which say what kind of refusal it is. */
export function answerText(code: string, sentence: string): string {
  if (!answers.value) return sentence || codeText(code);
  return translated(sentence) ?? [codeText(code), sentence].filter(Boolean).join(" ");
}

/** Errors of fields in the reader's language. Those of a row of a file have the errors of its fields within. */
export function fieldTexts<T extends { message: string; details?: FieldError[] }>(errors: T[]): T[] {
  return errors.map((error) => ({
    ...error,
    message: error.details?.length
      ? error.details.map(({ field, message }) => `${field}: ${translated(message) ?? message}`).join("; ")
      : (translated(error.message) ?? error.message),
  }));
}
