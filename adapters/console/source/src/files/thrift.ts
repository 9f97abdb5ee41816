// Thrift's compact protocol, as far as the footer of a Parquet file needs it: which has no maps.

/** Thrift's compact protocol: fields by the difference of their numbers, integers as varints with their sign last. */
export class Compact {
  private at = 0;
  constructor(private readonly bytes: Uint8Array) {}

  private byte(): number {
    const byte = this.bytes[this.at++];
    if (byte === undefined) throw new RangeError("the footer ends too early");
    return byte;
  }

  private varint(): number {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = this.byte();
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  }

  integer(): number {
    const value = this.varint();
    return value % 2 ? -(value + 1) / 2 : value / 2;
  }

  binary(): Uint8Array {
    const length = this.varint();
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }

  text(): string {
    return new TextDecoder().decode(this.binary());
  }

  /** The number of elements; their type is known from the schema of the format. */
  list(): number {
    const count = this.byte() >> 4;
    return count === 15 ? this.varint() : count;
  }

  /** Reads fields until `read` has enough. */
  struct(read: (field: number, type: number) => boolean): void {
    for (let field = 0; ; ) {
      const head = this.byte();
      if (head === 0) return;
      field = head >> 4 ? field + (head >> 4) : this.integer();
      if (!read(field, head & 15)) return;
    }
  }

  /** Reads those fields that `parts` has a reader for, each by its number, and skips the others. */
  fields(parts: Record<number, (type: number) => void>): void {
    this.struct((field, type) => {
      const read = parts[field];
      if (read) read(type);
      else this.skip(type);
      return true;
    });
  }

  /** What `read` makes of each element. */
  each<Found>(read: () => Found): Found[] {
    return Array.from({ length: this.list() }, read);
  }

  skip(type: number): void {
    if (type === 3) this.at += 1;
    else if (type >= 4 && type <= 6) this.varint();
    else if (type === 7) this.at += 8;
    else if (type === 8) this.binary();
    else if (type === 9 || type === 10) this.skipList();
    else if (type === 12) this.struct((_, kind) => (this.skip(kind), true));
  }

  private skipList(): void {
    const head = this.byte();
    const count = head >> 4 === 15 ? this.varint() : head >> 4;
    // within a list a boolean is a byte of its own
    for (let at = 0; at < count; at += 1) this.skip((head & 15) <= 2 ? 3 : head & 15);
  }
}
