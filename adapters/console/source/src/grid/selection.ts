// Selected rows, by id, with the versions that they had: at most as many as a batch takes.
import { signal } from "@preact/signals";
import type { Row } from "../api/meta";

export class Selection {
  readonly ids = signal<ReadonlyMap<string, Row>>(new Map());

  constructor(readonly most: number) {}

  toggle(row: Row): void {
    const next = new Map(this.ids.peek());
    if (!next.delete(row.id) && next.size < this.most) next.set(row.id, row);
    this.ids.value = next;
  }

  toggleAll(rows: Row[]): void {
    this.ids.value = this.ids.peek().size ? new Map() : new Map(rows.slice(0, this.most).map((row) => [row.id, row]));
  }

  clear(): void {
    this.ids.value = new Map();
  }
}
