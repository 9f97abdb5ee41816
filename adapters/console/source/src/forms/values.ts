// Between a row's JSON and what inputs hold: inputs hold texts, and what nobody touched is never sent.
import { exactInteger } from "../api/api";
import type { Entity, Field, Row } from "../api/meta";
import { plainNumber, typedNumber } from "../words/numbers";

export type Draft = Record<string, unknown>;

/** Values with several items, one on each line of their input. */
export const isList = (field: Field) => /^(texts|uuids|links|attachments)$/.test(field.kind);

export const emptyOf = (field: Field): unknown => (field.kind === "boolean" && !field.nullable ? false : "");

/** A value as its input holds it. */
export function heldValue(field: Field, value: unknown): unknown {
  if (value === null || value === undefined) return emptyOf(field);
  if (field.kind === "boolean") return value;
  if (isList(field)) return (value as string[]).join("\n");
  if (field.kind === "timestamp") return localTime(String(value));
  if (field.kind === "decimal") return typedNumber(String(value));
  return String(value);
}

/** For <input type=datetime-local>: the reader's own zone, to the second. */
function localTime(text: string): string {
  const when = new Date(text);
  if (Number.isNaN(when.getTime())) return "";
  return new Date(when.getTime() - when.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

/** The moment of a local time; null for no time, and for one that the clocks leave out: it would be shown as another. */
export function momentOf(local: string): string | null {
  const when = new Date(local);
  if (Number.isNaN(when.getTime())) return null;
  const moment = when.toISOString();
  return localTime(moment).startsWith(local.slice(0, 19)) ? moment : null;
}

/** What an input holds, as JSON for a body. A text that is no number is sent as it is: the service says what is wrong. */
export function sentValue(field: Field, held: unknown): unknown {
  if (field.kind === "boolean") return held === "" ? null : held === true || held === "true";
  const text = String(held);
  if (isList(field)) {
    const items = text
      .split("\n")
      .map((item) => item.trim())
      .filter(Boolean);
    return items.length || !field.nullable ? items : null;
  }
  if (text === "") return field.nullable || field.kind !== "text" ? null : "";
  const typed = field.kind === "decimal" || /integer/i.test(field.kind) ? plainNumber(text) : text.trim();
  switch (field.kind) {
    case "integer":
    case "bigInteger":
      return /^[+-]?\d+$/.test(typed) ? exactInteger(typed.replace("+", "")) : text;
    case "float":
      return Number.isFinite(Number(typed)) ? Number(typed) : text;
    case "decimal":
      return typed;
    case "timestamp":
      return momentOf(typed) ?? text;
    default:
      return text;
  }
}

export function draftOf(fields: Field[], row: Row | null): Draft {
  const value = (field: Field) => (row ? row[field.name] : field.default);
  return Object.fromEntries(fields.map((field) => [field.name, heldValue(field, value(field))]));
}

/** The fields whose inputs differ from the start, as a body. */
export function changesOf(fields: Field[], start: Draft, draft: Draft): Record<string, unknown> {
  const changed = fields.filter((field) => draft[field.name] !== start[field.name]);
  return Object.fromEntries(changed.map((field) => [field.name, sentValue(field, draft[field.name])]));
}

/** Fields that a form shows: those that may be written, for a new row or an old one. */
export const formFields = (entity: Entity) => entity.fields.filter((field) => field.writable);
