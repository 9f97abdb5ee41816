// Pages of rows, fetched as the window needs them: by number up to row 100,000, by cursor beyond. The total is
// estimated once and mended by what the pages say; 30 pages are kept.
import { signal } from "@preact/signals";
import { ApiError, call } from "../api/api";
import { whenOpen } from "../api/feed";
import type { Entity, Row } from "../api/meta";
import { apiQuery, fieldsOf, includesOf, type View } from "./view";

export const PAGE = 100;
const KEPT = 30;
const NUMBERED = 1_000;
const MOST_ROWS = 500_000;

interface PageOfRows {
  items: Row[];
  totalCount: number | null;
  totalCountIsEstimate?: boolean;
  hasNextPage: boolean;
  nextCursor?: string;
}

export class Pages {
  readonly total = signal<number | null>(null);
  /** The rows that exist at least where they are not all counted, else null. */
  readonly atLeast = signal<number | null>(null);
  readonly error = signal<unknown>(null);
  /** Raised when rows arrive: the grid reads it to draw again. */
  readonly arrived = signal(0);
  private readonly pages = new Map<number, Row[]>();
  private readonly asked = new Set<number>();
  private readonly cursors = new Map<number, string>();
  private readonly abort = new AbortController();
  private readonly stale = new Set<number>();
  private isCounted = false;
  private end = 0;

  constructor(
    readonly entity: Entity,
    readonly view: View,
    readonly fixed: [string, string][] = [],
  ) {}

  row(index: number): Row | undefined {
    return this.pages.get(Math.floor(index / PAGE) + 1)?.[index % PAGE];
  }

  /** The place of a row among the loaded ones; -1 of another. */
  indexOf(id: string): number {
    for (const [page, rows] of this.pages) {
      const at = rows.findIndex((row) => row.id === id);
      if (at >= 0) return (page - 1) * PAGE + at;
    }
    return -1;
  }

  loaded(): Row[] {
    return [...this.pages.entries()].sort(([a], [b]) => a - b).flatMap(([, rows]) => rows);
  }

  /** Rows that the window spans now: beyond the numbered pages it grows with the cursor. */
  get span(): number {
    const total = this.total.value ?? 0;
    const reached = Math.max(NUMBERED, ...this.cursors.keys()) * PAGE;
    return Math.min(total, reached, MOST_ROWS);
  }

  /** Asks for the pages of these rows, and for none that is there or under way. */
  want(first: number, last: number): void {
    // without any row there is a button to try again
    if (this.error.peek() && this.total.peek() === null) return;
    for (let page = Math.floor(first / PAGE) + 1; page <= Math.floor(Math.max(first, last) / PAGE) + 1; page += 1) {
      const isThere = this.pages.has(page) && !this.stale.has(page);
      if (isThere || this.asked.has(page) || (this.end && page > this.end)) continue;
      if (page > NUMBERED && !this.cursors.has(page)) continue;
      this.asked.add(page);
      void this.fetch(page);
    }
  }

  retry(): void {
    this.error.value = null;
    this.arrived.value += 1;
  }

  close(): void {
    this.abort.abort();
  }

  /** Reads and counts again what is shown: rows stay until those in their place are there. */
  refresh(): void {
    for (const page of this.pages.keys()) this.stale.add(page);
    this.cursors.clear();
    this.end = 0;
    this.isCounted = false;
    this.error.value = null;
    this.arrived.value += 1;
  }

  /** Whether filters or a search choose the rows. */
  get isNarrow(): boolean {
    return this.view.search !== "" || this.view.filters.length > 0 || this.fixed.length > 0;
  }

  /** Whether every row is loaded. */
  get isWhole(): boolean {
    return this.loaded().length >= (this.total.peek() ?? Number.POSITIVE_INFINITY);
  }

  query(page: number): URLSearchParams {
    const query = apiQuery(this.view);
    for (const [key, value] of this.fixed) query.append(key, value);
    const cursor = page > NUMBERED ? this.cursors.get(page) : undefined;
    if (cursor) query.set("cursor", cursor);
    else query.set("page", String(page));
    query.set("pageSize", String(PAGE));
    query.set("count", this.isCounted ? "none" : "estimated");
    query.set("fields", fieldsOf(this.entity, this.view));
    const include = includesOf(this.entity, this.view.columns);
    if (include) query.set("include", include);
    return query;
  }

  /** Reads rows again and shows them in their places; one that the view does not show any more stays until a reload. */
  async renew(...ids: string[]): Promise<void> {
    const query = this.query(1);
    for (const name of ["page", "sort", "search", ...this.view.filters.map(([key]) => key)]) query.delete(name);
    query.set("id.in", ids.join());
    query.set("count", "none");
    const options = { query, signal: this.abort.signal, exact: true };
    const { data } = await call<PageOfRows>("GET", `/api/${this.entity.plural}`, options);
    for (const row of data.items) this.put(row);
  }

  /** Shows a row in the place of the one with its id. */
  put(row: Row): void {
    for (const rows of this.pages.values()) {
      const at = rows.findIndex(({ id }) => id === row.id);
      if (at >= 0) rows.splice(at, 1, row);
    }
    this.arrived.value += 1;
  }

  /** Which of these rows the view shows, wherever they are in it. */
  async shownOf(ids: string[]): Promise<Set<string>> {
    const query = this.query(1);
    for (const name of ["page", "sort", "include"]) query.delete(name);
    query.set("fields", "id");
    query.set("count", "none");
    query.append("id.in", ids.join());
    const options = { query, signal: this.abort.signal };
    const { data } = await call<PageOfRows>("GET", `/api/${this.entity.plural}`, options);
    return new Set(data.items.map(({ id }) => id));
  }

  private async fetch(page: number): Promise<void> {
    try {
      await whenOpen(this.entity);
      const options = { query: this.query(page), signal: this.abort.signal, exact: true };
      this.keep(page, (await call<PageOfRows>("GET", `/api/${this.entity.plural}`, options)).data);
      this.error.value = null;
    } catch (error) {
      if (error instanceof DOMException) return;
      if (!(error instanceof ApiError && error.status === 404 && page > 1)) this.error.value = error;
    } finally {
      this.asked.delete(page);
    }
  }

  private keep(page: number, found: PageOfRows): void {
    this.pages.set(page, found.items);
    this.stale.delete(page);
    if (found.nextCursor) this.cursors.set(page + 1, found.nextCursor);
    if (found.totalCount !== null && !this.isCounted) {
      this.isCounted = true;
      this.total.value = found.totalCount;
      this.atLeast.value = found.totalCountIsEstimate ? found.totalCount : null;
    }
    this.mend(page, found);
    for (const number of this.pages.keys()) {
      if (this.pages.size <= KEPT) break;
      if (number !== page) this.pages.delete(number);
    }
    this.arrived.value += 1;
  }

  /** An estimate that proves wrong is replaced: by the exact end, or by one page more. */
  private mend(page: number, found: PageOfRows): void {
    const reached = (page - 1) * PAGE + found.items.length;
    if (!found.hasNextPage && (found.items.length || page === 1)) {
      this.end = page;
      this.total.value = reached;
      this.atLeast.value = null;
      for (const number of this.pages.keys()) if (number > page) this.pages.delete(number);
    } else if (found.hasNextPage && (this.total.peek() ?? 0) <= reached) {
      this.total.value = reached + PAGE;
      this.atLeast.value = reached + 1;
    } else if (!found.items.length && page > 1) {
      this.total.value = Math.min(this.total.peek() ?? 0, (page - 1) * PAGE);
    }
  }
}
