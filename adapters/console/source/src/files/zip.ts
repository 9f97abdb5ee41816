// Parts of a ZIP archive, read as far as they are needed: a workbook of many megabytes costs its first rows.

export interface Part {
  method: number;
  size: number;
  at: number;
}

const TAIL = 66_000; // bytes: the record at the end, with the longest comment
const END = 0x06054b50;
const ENTRY = 0x02014b50;

/** Parts by their names; empty for what is no archive, or one beyond 4 GB. */
export async function partsOf(file: File): Promise<Map<string, Part>> {
  const parts = new Map<string, Part>();
  const tail = new DataView(await file.slice(-TAIL).arrayBuffer());
  let end = tail.byteLength - 22;
  while (end >= 0 && tail.getUint32(end, true) !== END) end -= 1;
  if (end < 0) return parts;
  const start = tail.getUint32(end + 16, true);
  const list = new DataView(await file.slice(start, start + tail.getUint32(end + 12, true)).arrayBuffer());
  for (let at = 0; at + 46 <= list.byteLength && list.getUint32(at, true) === ENTRY; ) {
    const [name, extra, comment] = [28, 30, 32].map((offset) => list.getUint16(at + offset, true)) as [
      number,
      number,
      number,
    ];
    parts.set(new TextDecoder().decode(new Uint8Array(list.buffer, at + 46, name)), {
      method: list.getUint16(at + 10, true),
      size: list.getUint32(at + 20, true),
      at: list.getUint32(at + 42, true),
    });
    at += 46 + name + extra + comment;
  }
  return parts;
}

/** The text of a part up to `most` characters, or until `isEnough` of what was read so far. */
export async function textOf(
  file: File,
  part: Part | undefined,
  isEnough: (text: string) => boolean,
  most = 8_000_000,
): Promise<string> {
  if (!part) return "";
  const head = new DataView(await file.slice(part.at, part.at + 30).arrayBuffer());
  const start = part.at + 30 + head.getUint16(26, true) + head.getUint16(28, true);
  const packed = file.slice(start, start + part.size).stream();
  const plain = part.method === 8 ? packed.pipeThrough(new DecompressionStream("deflate-raw")) : packed;
  const reader = plain.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (text.length < most && !isEnough(text)) {
    const { value, done } = await reader.read();
    if (done) break;
    text += value;
  }
  await reader.cancel().catch(() => undefined);
  return text;
}
