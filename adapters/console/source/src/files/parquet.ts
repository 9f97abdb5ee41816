// Names of a Parquet file's columns, and what their values reach from and to, by the metadata at its end.
import type { Head } from "./head";
import { type Column, shown } from "./parquetvalues";
import { Compact } from "./thrift";

const MOST = 16_000_000; // bytes of a footer

/** The examples of a column are its smallest and its largest value: rows stand compressed in ways of their own. */
export async function parquetHead(file: File): Promise<Head | null> {
  const end = new DataView(await file.slice(-8).arrayBuffer());
  const length = end.getUint32(0, true);
  if (end.getUint32(4, true) !== 0x31524150 || length > MOST) return null; // the word PAR1
  const footer = new Compact(new Uint8Array(await file.slice(-8 - length, -8).arrayBuffer()));
  const { schema, ranges } = metadataOf(footer);
  const columns: Column[] = [];
  // the first element is the root; those within a column that is a group stand behind it
  for (let at = 1; at < schema.length; at = behind(schema, at)) columns.push(schema[at]!);
  const names = columns.map((column) => column.name);
  if (!names.length) return null;
  const rows = ([0, 1] as const).map((side) =>
    columns.map((column) => example(column, ranges.get(column.name)?.[side])),
  );
  return rows.flat().some(Boolean) ? { names, rows, isRange: true } : { names, rows: [] };
}

function example(column: Column, bytes: Uint8Array | undefined): string {
  return bytes && !column.children ? shown(column, bytes) : "";
}

function behind(schema: Column[], at: number): number {
  let next = at + 1;
  for (let child = 0; child < (schema[at]?.children ?? 0); child += 1) next = behind(schema, next);
  return next;
}

type Range = [smallest: Uint8Array, largest: Uint8Array];

/** Field 2 of FileMetaData is the schema, field 4 are the groups of rows, of which the first has the examples. */
function metadataOf(reader: Compact): { schema: Column[]; ranges: Map<string, Range> } {
  let schema: Column[] = [];
  let ranges = new Map<string, Range>();
  reader.struct((field, type) => {
    if (field === 2) schema = reader.each(() => columnOf(reader));
    else if (field === 4) ranges = rangesOf(reader);
    else reader.skip(type);
    return field !== 4; // what follows tells of who wrote it
  });
  return { schema, ranges };
}

/** A SchemaElement: its name, the number of its children, and how its values are written. */
function columnOf(reader: Compact): Column {
  const column: Column = { name: "", children: 0, type: -1, converted: -1, scale: 0, perSecond: 0 };
  reader.fields({
    1: () => (column.type = reader.integer()),
    4: () => (column.name = reader.text()),
    5: () => (column.children = reader.integer()),
    6: () => (column.converted = reader.integer()),
    7: () => (column.scale = reader.integer()),
    10: () =>
      reader.fields({
        8: () =>
          reader.fields({
            2: () =>
              reader.struct((unit, type) => {
                column.perSecond = [0, 1e3, 1e6, 1e9][unit] ?? 0;
                reader.skip(type);
                return true;
              }),
          }),
      }),
  });
  return column;
}

/** Of the first group of rows, by the names of columns that are no groups. */
function rangesOf(reader: Compact): Map<string, Range> {
  const found = new Map<string, Range>();
  if (!reader.list()) return found;
  const chunk = () => {
    let path: string[] = [];
    const range: Partial<Record<"smallest" | "largest", Uint8Array>> = {};
    const statistics = { 5: () => (range.largest = reader.binary()), 6: () => (range.smallest = reader.binary()) };
    const metadata = {
      3: () => (path = reader.each(() => reader.text())),
      12: () => reader.fields(statistics),
    };
    reader.fields({ 3: () => reader.fields(metadata) });
    if (path.length === 1 && range.smallest && range.largest) found.set(path[0]!, [range.smallest, range.largest]);
  };
  reader.struct((field, type) => {
    if (field === 1) reader.each(chunk);
    else reader.skip(type);
    return field !== 1;
  });
  return found;
}
