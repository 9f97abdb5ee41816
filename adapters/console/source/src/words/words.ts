// Texts by key in the language of the reader, dates and numbers by Intl. The console and the account pages set the texts.
import { computed, signal } from "@preact/signals";
import type pages from "../../../../../domain/words/en/pages.json";
import type en from "./en";

export type Key = keyof typeof en | keyof typeof pages;
export type Texts = Record<string, string>;

const RIGHT_TO_LEFT = new Set(["ar", "fa", "he", "ur"]);

export const language = signal("en");
const texts = signal<Texts>({});
/** Null for English, which the API speaks itself. */
export const answers = signal<Texts | null>(null);
/** The browser's own variant where it is of the chosen language: en-GB writes dates as its reader expects. */
export const locale = computed(
  () => navigator.languages.find((name) => name.split("-")[0] === language.value) ?? language.value,
);

/** Sets the texts of a language, and the sentences of the API in it by their English text. */
export function speak(code: string, spoken: Texts, translations: Texts | null): void {
  texts.value = spoken;
  answers.value = translations;
  language.value = code;
  document.documentElement.lang = code;
  document.documentElement.dir = RIGHT_TO_LEFT.has(code) ? "rtl" : "ltr";
}

/** A text with its places filled in: `{count}` becomes a number as the language writes it. */
export function t(key: Key, values: Record<string, string | number> = {}): string {
  const count = values.count;
  const plural = typeof count === "number" ? `${key}_${new Intl.PluralRules(locale.value).select(count)}` : key;
  const text = texts.value[plural] ?? texts.value[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (_, name) => {
    const value = values[name];
    return typeof value === "number" ? number(value) : String(value ?? "");
  });
}

/** Words for a code of the API; empty for one that the console does not know. */
export const codeText = (code: string): string => texts.value[`error.${code}`] ?? "";

const formats = computed(() => ({
  number: new Intl.NumberFormat(locale.value),
  date: new Intl.DateTimeFormat(locale.value, { dateStyle: "medium", timeZone: "UTC" }),
  time: new Intl.DateTimeFormat(locale.value, { dateStyle: "medium", timeStyle: "short" }),
  exact: new Intl.DateTimeFormat(locale.value, { dateStyle: "full", timeStyle: "long" }),
  long: new Intl.DateTimeFormat(locale.value, { dateStyle: "long" }),
  short: new Intl.DateTimeFormat(locale.value, { day: "numeric", month: "short" }),
  relative: new Intl.RelativeTimeFormat(locale.value, { numeric: "auto" }),
  // by their digits: to make a format takes longer than to draw the cell that it is for
  decimals: new Map<number, Intl.NumberFormat>(),
}));

/** Digits as the language groups them. A text such as `39.90` keeps all its digits. */
export function number(value: number | string, digits?: number): string {
  if (digits === undefined) return formats.value.number.format(value as number);
  const { decimals } = formats.value;
  let format = decimals.get(digits);
  if (!format) {
    const options = { minimumFractionDigits: digits, maximumFractionDigits: digits };
    format = new Intl.NumberFormat(locale.value, options);
    decimals.set(digits, format);
  }
  return format.format(value as number);
}

export const date = (value: string) => valid(value, (when) => formats.value.date.format(when));
export const time = (value: string) => valid(value, (when) => formats.value.time.format(when));
/** Day and month. */
export const shortDate = (when: Date) => formats.value.short.format(when);
export const longDate = (value: string) => valid(value, (when) => formats.value.long.format(when));
export const exactTime = (value: string) => valid(value, (when) => formats.value.exact.format(when));

const STEPS: [Intl.RelativeTimeFormatUnit, number][] = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

export function ago(value: string): string {
  return valid(value, (when) => {
    const seconds = (when.getTime() - Date.now()) / 1_000;
    const [unit, size] = STEPS.find(([, size]) => Math.abs(seconds) >= size) ?? ["second", 1];
    return formats.value.relative.format(Math.round(seconds / size), unit);
  });
}

function valid(value: string, format: (when: Date) => string): string {
  const when = new Date(value);
  return Number.isNaN(when.getTime()) ? String(value) : format(when);
}
