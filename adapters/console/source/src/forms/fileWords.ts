// Types and sizes of files as people write them.
import { number } from "../words/words";

const KINDS = new Map([
  ["text/plain", "TXT"],
  ["application/vnd.openxmlformats-officedocument.wordprocessingml.document", "DOCX"],
  ["application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "XLSX"],
  ["application/vnd.openxmlformats-officedocument.presentationml.presentation", "PPTX"],
  ["application/vnd.apache.parquet", "Parquet"],
  ["audio/mpeg", "MP3"],
  ["application/octet-stream", ""],
]);

/** `PNG, JPEG`; empty where any content is accepted. */
export const kindsOf = (types: string[]): string =>
  [...new Set(types.map((type) => KINDS.get(type) ?? type.split("/")[1]?.toUpperCase() ?? ""))]
    .filter(Boolean)
    .join(", ");

const UNITS = ["B", "kB", "MB", "GB"];

export function sizeText(bytes: number): string {
  const step = Math.min(UNITS.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  const value = bytes / 1_000 ** step;
  return `${number(String(value), step && value < 10 && value % 1 ? 1 : 0)} ${UNITS[step]}`;
}
