// What the pages' scripts say, in the language of the page, and the API's sentences in it.
const language = document.documentElement.lang;
const { default: words } = await import(`./words-${language}.js`);
const PLACE = /\{(\w+)\}/;
// The browser's own variant of the language: en-GB writes dates as its reader expects.
const locale = navigator.languages.find((name) => name.split("-")[0] === language) ?? language;

const filled = (text, values) => text.replaceAll(/\{(\w+)\}/g, (_, name) => values[name] ?? "");

export const t = (key, values = {}) => filled(words.texts[key], values);
export const field = (name) => words.texts[`field.${name}`] ?? name;
export const day = (text, dateStyle = "medium") => new Date(text).toLocaleDateString(locale, { dateStyle });
export const number = (value) => new Intl.NumberFormat(locale).format(value);

const patterns = words.answers.map(([sentence, text]) => {
  // the odd pieces are the names of places
  const pieces = sentence.split(new RegExp(PLACE, "g"));
  const escaped = (piece) => piece.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return [new RegExp(`^${pieces.map((piece, at) => (at % 2 ? `(?<${piece}>.+?)` : escaped(piece))).join("")}$`), text];
});

/** The API's sentence in the language of the page; undefined for one that nobody translated. */
export function translated(sentence) {
  if (language === "en") return sentence;
  for (const [pattern, text] of patterns) {
    const found = pattern.exec(sentence);
    if (found) return filled(text, found.groups ?? {});
  }
  return undefined;
}
