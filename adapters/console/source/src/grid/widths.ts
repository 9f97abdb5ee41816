// Widths of the columns: by the kind of the field, its title, and what the first rows hold. The column that names a row
// takes what is left over.
import { choiceOf, type Entity, entityOf, type Field, type Row, rowLabel } from "../api/meta";
import type { StoredFile } from "../api/uploads";
import { titleOf } from "./cells";
import { thumbnailOf } from "./files";
import type { Pages } from "./pages";

const MEASURED = 40; // rows
const PADDING = 26;
const HEADER = 52; // of a header: padding, the icon of the kind, and the arrow of the order

type Range = [least: number, most: number];
const TEXT: Range = [90, 300];
const RANGES: Partial<Record<string, Range>> = {
  integer: [72, 160],
  bigInteger: [72, 190],
  decimal: [84, 190],
  float: [84, 190],
  boolean: [72, 110],
  timestamp: [172, 172],
  date: [116, 116],
  uuid: [136, 136],
  choice: [92, 220],
  reference: [120, 260],
  links: [140, 320],
  texts: [120, 300],
  uuids: [150, 300],
  attachment: [72, 240],
  attachments: [110, 320],
};
const DISPLAY: Range = [180, 340];

/** What a cell shows, as far as its width goes. */
function textOf(field: Field, row: Row): string {
  const value = row[field.name];
  if (value === null || value === undefined) return "";
  if (thumbnailOf(field, 0)) return "";
  const related = field.relation ? row[field.relation] : undefined;
  const target = field.target ? entityOf(field.target) : undefined;
  if (field.kind === "attachment" || field.kind === "attachments")
    return [related ?? []]
      .flat()
      .map((file) => `${(file as StoredFile).name}   `)
      .join("");
  if (Array.isArray(related)) return (related as Row[]).map((linked) => `${rowLabel(target, linked)}   `).join("");
  if (related) return `${rowLabel(target, related as Row)}  `;
  if (field.kind === "reference") return "00000000-0000";
  if (field.kind === "choice") return `${choiceOf(field, String(value)).label}  `;
  return Array.isArray(value) ? value.map((one) => `${one}   `).join("") : String(value);
}

const canvas = document.createElement("canvas").getContext("2d");

/** The width of the longest text in pixels, in the font of a cell. */
function widest(texts: string[]): number {
  if (!canvas) return 0;
  canvas.font = `500 14px ${getComputedStyle(document.body).fontFamily}`;
  return Math.max(0, ...texts.map((text) => canvas.measureText(text).width));
}

function measured(field: Field, entity: Entity, rows: Row[]): number {
  const [least, most] = field.name === entity.display ? DISPLAY : (RANGES[field.kind] ?? TEXT);
  const contents = widest(rows.map((row) => textOf(field, row))) + PADDING;
  const title = Math.min(most, widest([titleOf(field)]) + HEADER);
  return Math.ceil(Math.max(least, title, Math.min(most, contents)));
}

/** Widths that the contents ask for. */
export function ownWidths(columns: Field[], pages: Pages): number[] {
  const rows = Array.from({ length: MEASURED }, (_, index) => pages.row(index)).filter((row) => !!row);
  return columns.map((field) => measured(field, pages.entity, rows));
}

/** Widths in `room` pixels; those that somebody chose stay as they are. */
export function fittedWidths(columns: Field[], own: number[], entity: Entity, room: number, chosen: Chosen): number[] {
  // on a telephone the column that names the row leaves room for another one
  const most = Math.max(160, room * 0.6);
  const widths = columns.map(({ name }, index) => chosen[name] ?? Math.min(most, own[index] ?? 0));
  const free = columns.findIndex(({ name }) => name === entity.display && !chosen[name]);
  const at = free >= 0 ? free : columns.findLastIndex(({ name }) => !chosen[name]);
  const taker = at >= 0 ? at : columns.length - 1;
  const left = room - widths.reduce((sum, width) => sum + width, 0);
  return widths.map((width, index) => (index === taker ? width + Math.max(0, left) : width));
}

export type Chosen = Record<string, number>;
