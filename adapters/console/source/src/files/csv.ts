// The first rows of a CSV.
import type { Head } from "./head";

const DELIMITERS = [",", ";", "\t", "|"];
const HEAD = 65_536; // bytes

export async function csvHead(file: File): Promise<Head | null> {
  const text = new TextDecoder().decode(await file.slice(0, HEAD).arrayBuffer()).replace(/^\ufeff/, "");
  const line = text.split(/\r?\n/, 1)[0] ?? "";
  const delimiter = DELIMITERS.reduce((best, next) =>
    line.split(next).length > line.split(best).length ? next : best,
  );
  const [names, ...rows] = parse(text, delimiter, 4);
  return names?.length ? { names, rows, delimiter } : null;
}

/** At most `most` records; quotes may hold delimiters, line feeds and doubled quotes. */
function parse(text: string, delimiter: string, most: number): string[][] {
  const records: string[][] = [];
  let record: string[] = [];
  let cell = "";
  let isQuoted = false;
  for (let at = 0; at < text.length && records.length < most; at += 1) {
    const char = text[at]!;
    if (isQuoted) {
      if (char !== '"') cell += char;
      else if (text[at + 1] === '"') cell += text[at++];
      else isQuoted = false;
    } else if (char === '"' && cell === "") isQuoted = true;
    else if (char === delimiter) {
      record.push(cell);
      cell = "";
    } else if (char === "\n") {
      records.push([...record, cell.replace(/\r$/, "")]);
      record = [];
      cell = "";
    } else cell += char;
  }
  if (records.length < most && (cell || record.length)) records.push([...record, cell.replace(/\r$/, "")]);
  return records;
}
