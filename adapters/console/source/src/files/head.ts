// The first rows of a file, so that its columns can be mapped; the service reads the file itself.
import { csvHead } from "./csv";
import { parquetHead } from "./parquet";
import { xlsxHead } from "./xlsx";

export interface Head {
  names: string[];
  /** Some rows behind the names. */
  rows: string[][];
  /** The two rows are the smallest and the largest value of each column, of a Parquet file. */
  isRange?: boolean;
  /** Of a CSV. */
  delimiter?: string;
  /** Sheets of a workbook that can be seen, and the one that was read. */
  sheets?: string[];
  sheet?: string;
}

/** Null for a file that is not understood here: its columns go by their names, and the service says what is wrong. */
export async function headOf(file: File, sheet?: string): Promise<Head | null> {
  const end = /\.(\w+)$/.exec(file.name)?.[1]?.toLowerCase();
  try {
    if (end === "xlsx") return await xlsxHead(file, sheet);
    if (end === "parquet") return await parquetHead(file);
    return end === "csv" || end === "tsv" || end === "txt" || file.type === "text/csv" ? await csvHead(file) : null;
  } catch {
    return null;
  }
}
