// The first rows of a workbook. Its XML is read by patterns: the policy of the page allows no parser that could make
// markup, and only names and some examples are shown.
import type { Head } from "./head";
import { type Part, partsOf, textOf } from "./zip";

const ROWS = 4;

interface Sheet {
  name: string;
  part: string;
}

export async function xlsxHead(file: File, wanted?: string): Promise<Head | null> {
  const parts = await partsOf(file);
  const sheets = await sheetsOf(file, parts);
  const sheet = sheets.find(({ name }) => name === wanted) ?? sheets[0];
  if (!sheet) return null;
  const isEnough = (text: string) => text.split(/<\/(?:\w+:)?row>/).length > ROWS;
  const xml = await textOf(file, parts.get(sheet.part), isEnough);
  const cells = tags(xml, "row")
    .slice(0, ROWS)
    .map((row) => tags(row.inner, "c"));
  const shared = await sharedOf(file, parts, cells.flat());
  const [names, ...rows] = cells.map((row) => rowOf(row, shared));
  if (!names?.some(Boolean)) return null;
  const kept = names.flatMap((name, index) => (name ? [index] : []));
  const shown = (row: string[]) => kept.map((index) => row[index] ?? "");
  return { names: shown(names), rows: rows.map(shown), sheets: sheets.map(({ name }) => name), sheet: sheet.name };
}

interface Tag {
  attributes: Record<string, string>;
  inner: string;
}

/** Elements of this name in any namespace; none of those that are read here stands within another of its name. */
function tags(xml: string, name: string): Tag[] {
  const pattern = new RegExp(`<(?:\\w+:)?${name}(\\s[^>]*?)?(?:/>|>([\\s\\S]*?)</(?:\\w+:)?${name}>)`, "g");
  return [...xml.matchAll(pattern)].map(([, attributes = "", inner = ""]) => ({
    attributes: Object.fromEntries(
      [...attributes.matchAll(/([\w:]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g)].map(([, key, double, single]) => [
        key!.replace(/^\w+:/, ""),
        plain(double ?? single ?? ""),
      ]),
    ),
    inner,
  }));
}

const NAMED: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

const plain = (text: string) =>
  text.replace(/&(?:#x([\da-f]+)|#(\d+)|(\w+));/gi, (whole, hex, decimal, name) => {
    if (name) return NAMED[name] ?? whole;
    return String.fromCodePoint(hex ? Number.parseInt(hex, 16) : Number(decimal));
  });

/** Worksheets that can be seen, in their order; a chart has a sheet of its own, and no rows. */
async function sheetsOf(file: File, parts: Map<string, Part>): Promise<Sheet[]> {
  const whole = () => false;
  const links = await textOf(file, parts.get("xl/_rels/workbook.xml.rels"), whole);
  const targets = new Map(
    tags(links, "Relationship").map(({ attributes }) => [attributes.Id, attributes.Target ?? ""]),
  );
  return tags(await textOf(file, parts.get("xl/workbook.xml"), whole), "sheet")
    .filter(({ attributes }) => !attributes.state || attributes.state === "visible")
    .map(({ attributes }) => {
      const target = targets.get(attributes.id) ?? "";
      return { name: attributes.name ?? "", part: target.startsWith("/") ? target.slice(1) : `xl/${target}` };
    })
    .filter(({ part }) => parts.has(part) && part.includes("worksheets/"));
}

/** Texts that cells name by their number, as far as these cells need them. */
async function sharedOf(file: File, parts: Map<string, Part>, cells: Tag[]): Promise<string[]> {
  const numbers = cells.filter(({ attributes }) => attributes.t === "s").map(({ inner }) => Number(textIn(inner)));
  if (!numbers.length) return [];
  const most = Math.max(...numbers) + 1;
  const isEnough = (text: string) => text.split(/<\/(?:\w+:)?si>/).length > most;
  return tags(await textOf(file, parts.get("xl/sharedStrings.xml"), isEnough), "si").map(({ inner }) => wordsOf(inner));
}

const textIn = (inner: string) => plain(tags(inner, "v")[0]?.inner ?? "");
/** A text may be in several runs; how it is spoken (`rPh`) is no part of it. */
const wordsOf = (inner: string) =>
  tags(inner.replace(/<(?:\w+:)?rPh[\s>][\s\S]*?<\/(?:\w+:)?rPh>/g, ""), "t")
    .map((run) => plain(run.inner))
    .join("");

function rowOf(cells: Tag[], shared: string[]): string[] {
  const row: string[] = [];
  for (const { attributes, inner } of cells) {
    const place = columnOf(attributes.r) ?? row.length;
    while (row.length < place) row.push("");
    const value = textIn(inner);
    if (attributes.t === "s") row[place] = shared[Number(value)] ?? "";
    else row[place] = attributes.t === "inlineStr" ? wordsOf(inner) : value;
  }
  return row;
}

/** `C7` is the third column. */
function columnOf(place: string | undefined): number | undefined {
  const letters = /^[A-Z]+/.exec(place ?? "")?.[0];
  if (!letters) return undefined;
  return [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0) - 1;
}
