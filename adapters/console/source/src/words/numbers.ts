// Numbers that somebody types, in the signs of their language.
import { computed } from "@preact/signals";
import { locale } from "./words";

/** The signs between the digits of a number, of which some keyboards have no more than a likeness. */
const signs = computed(() => {
  const parts = new Intl.NumberFormat(locale.value).formatToParts(-1_234_567.8);
  const sign = (type: string, other: string) => alike(parts.find((part) => part.type === type)?.value ?? other);
  const [group, decimal] = [sign("group", ","), sign("decimal", ".")].map((text) => `\\${text}`);
  return {
    decimal: sign("decimal", "."),
    typed: new RegExp(`^([+-]?)(\\d{1,3}(?:${group}\\d{2,3})*${group}\\d{3}|\\d*)(?:${decimal}(\\d*))?$`),
  };
});

const alike = (text: string) =>
  text
    .replace(/[\u00a0\u202f]/g, " ")
    .replace(/\u2019/g, "'")
    .replace(/\u2212/g, "-");

/** A number that was typed as the language shows it, in plain digits; any other text as it is. */
export function plainNumber(text: string): string {
  const found = signs.value.typed.exec(alike(text.trim()));
  if (!found) return text.trim();
  const [, sign, whole, rest] = found;
  return `${sign}${whole?.replace(/\D/g, "")}${rest === undefined ? "" : `.${rest}`}`;
}

/** Plain digits as the language writes them, all of them and without groups. */
export const typedNumber = (digits: string) => digits.replace(".", signs.value.decimal);
