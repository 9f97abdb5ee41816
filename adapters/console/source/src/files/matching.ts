// Suggests the field of a column whose name is similar to that of a field: `Mail` for `email`, `Preis` for `Price`.
import type { Entity, Field } from "../api/meta";
import type { FileHeader } from "../api/types";
import { titleOf } from "../grid/cells";

/** Words with the same meaning in English and German: files have headers of both. The first stands for all. */
const MEANINGS = [
  "name bezeichnung titel title designation",
  "email mail emailadresse mailadresse",
  "firstname vorname",
  "lastname nachname familienname surname",
  "phone telefon tel telefonnummer phonenumber",
  "company firma",
  "street strasse",
  "zip plz postleitzahl postcode",
  "city ort stadt",
  "country land",
  "price preis einzelpreis verkaufspreis",
  "amount betrag summe",
  "stock bestand lagerbestand menge quantity qty anzahl",
  "sku artikelnummer artikelnr artnr itemnumber",
  "number nummer nr",
  "description beschreibung",
  "category kategorie warengruppe",
  "status zustand state",
  "date datum",
  "released veroffentlicht erschienen",
  "note notes notiz notizen bemerkung bemerkungen remark remarks kommentar comment",
  "active aktiv",
  "currency wahrung",
  "rating bewertung",
  "author autor verfasser",
].map((words) => words.split(" "));
const KNOWN = new Map(MEANINGS.flatMap((words) => words.map((word) => [word, words[0]!] as const)));

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** Lower case without accents: `Größe (cm)` has the words `grosse` and `cm`. */
const wordsOf = (text: string): string[] =>
  text
    .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, "$1 $2")
    .toLowerCase()
    .replace(/ß/g, "ss")
    .normalize("NFD")
    .replace(/\p{M}/gu, "")
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean);

/** From 0 to 1: equal names have 1, names with the same meaning 0.9, one within the other 0.7, a typing error 0.6. */
export function similarity(column: string, name: string): number {
  const [given, own] = [wordsOf(column), wordsOf(name)];
  const [a, b] = [given.join(""), own.join("")];
  if (!a || !b) return 0;
  if (a === b) return 1;
  const meant = (words: string[]) => words.map((word) => KNOWN.get(word) ?? word);
  const whole = (words: string[], text: string) => KNOWN.get(text) ?? meant(words).join("");
  if (whole(given, a) === whole(own, b)) return 0.9;
  const [fewer, more] = given.length < own.length ? [given, own] : [own, given];
  const within = new Set(meant(more));
  if (fewer.length < more.length && meant(fewer).every((word) => within.has(word))) return 0.7;
  if (Math.min(a.length, b.length) >= 4 && (a.endsWith(b) || b.endsWith(a))) return 0.7;
  return Math.min(a.length, b.length) >= 5 && isOneStepAway(a, b) ? 0.6 : 0;
}

/** Whether one letter was added, left out or replaced. */
function isOneStepAway(a: string, b: string): boolean {
  const [short, long] = a.length <= b.length ? [a, b] : [b, a];
  if (long.length - short.length > 1) return false;
  let at = 0;
  while (at < short.length && short[at] === long[at]) at++;
  return short.slice(at + (long.length === short.length ? 1 : 0)) === long.slice(at + 1);
}

/** Fields by the names of columns. The best pair comes first; a column that suits two fields equally has none. */
export function suggestedFields(entity: Entity, { columns }: FileHeader): Record<string, string> {
  const taken = new Set<string>(columns.flatMap(({ field }) => field ?? []));
  const found: Record<string, string> = {};
  const pairs = columns
    // a column such as `category.name` is of a related row
    .filter(({ name, field }) => name && !field && !name.includes("."))
    .flatMap((column) =>
      entity.fields
        .filter((field) => suits(field, column.samples))
        .map((field) => ({ column: column.name, field, score: scoreOf(field, column.name) })),
    )
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score);
  for (const { column, field, score } of pairs) {
    if (found[column] || taken.has(field.name)) continue;
    const isRival = (pair: (typeof pairs)[number]) => pair.column === column && pair.score === score;
    if (pairs.some((pair) => isRival(pair) && pair.field !== field && !taken.has(pair.field.name))) continue;
    found[column] = field.name;
    taken.add(field.name);
  }
  return found;
}

const scoreOf = (field: Field, column: string) => {
  const score = Math.max(...[field.name, titleOf(field)].map((name) => similarity(column, name)));
  // only an equal name means a field that the service sets, such as the id
  return field.writable || score === 1 ? score : 0;
};

/** A file has the ids of referenced rows: a column with their names is not for the field. */
const suits = (field: Field, samples: readonly string[]) =>
  field.kind !== "reference" || samples.every((sample) => UUID.test(sample));
