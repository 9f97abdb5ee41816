// Values of Parquet as texts: the bytes of a column's statistics, by its physical and its logical type.

export interface Column {
  name: string;
  children: number;
  /** Physical type: 0 boolean, 1 and 2 integers of 32 and 64 bits, 4 and 5 floats, 6 and 7 bytes. */
  type: number;
  /** Logical type as older writers name it: 0 UTF-8, 4 enum, 5 decimal, 6 date, 9 and 10 times. */
  converted: number;
  scale: number;
  /** Of a time: 1,000 for milliseconds. */
  perSecond: number;
}

const LONGEST = 40;

/** Empty for what has no text of its own, such as bytes. */
export function shown(column: Column, bytes: Uint8Array): string {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (column.type === 0) return view.getUint8(0) ? "true" : "false";
  if (column.type === 4) return String(Number(view.getFloat32(0, true).toPrecision(7)));
  if (column.type === 5) return String(view.getFloat64(0, true));
  if (column.converted === 5) return decimal(column.type > 2 ? bigEndian(bytes) : whole(column, view), column.scale);
  if (column.type === 1 || column.type === 2) return integer(column, whole(column, view));
  const isText = column.type === 6 && (column.converted === 0 || column.converted === 4);
  // a writer may have cut a long text within a character
  return isText
    ? new TextDecoder()
        .decode(bytes)
        .replace(/\uFFFD+$/, "")
        .slice(0, LONGEST)
    : "";
}

const whole = (column: Column, view: DataView) =>
  column.type === 1 ? BigInt(view.getInt32(0, true)) : view.getBigInt64(0, true);

function integer(column: Column, value: bigint): string {
  if (column.converted === 6) return new Date(Number(value) * 86_400_000).toISOString().slice(0, 10);
  const perSecond = column.perSecond || { 9: 1e3, 10: 1e6 }[column.converted] || 0;
  const isTime = column.type === 2 && perSecond;
  return isTime ? `${new Date(Number(value) / (perSecond / 1e3)).toISOString().slice(0, 19)}Z` : String(value);
}

function bigEndian(bytes: Uint8Array): bigint {
  return BigInt.asIntN(
    bytes.length * 8,
    bytes.reduce((value, byte) => value * 256n + BigInt(byte), 0n),
  );
}

function decimal(value: bigint, scale: number): string {
  const digits = String(value < 0n ? -value : value).padStart(scale + 1, "0");
  const at = digits.length - scale;
  return `${value < 0n ? "-" : ""}${digits.slice(0, at)}${scale ? "." : ""}${digits.slice(at)}`;
}
