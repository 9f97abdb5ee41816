// The first rows of a CSV, so that its columns can be mapped; the service reads the file itself.

const DELIMITERS = [",", ";", "\t", "|"];
const HEAD = 65_536; // bytes

export interface Head {
  names: string[];
  rows: string[][];
  delimiter: string;
}

export async function headOf(file: File): Promise<Head | null> {
  if (!/\.(csv|tsv|txt)$/i.test(file.name) && file.type !== "text/csv") return null;
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
