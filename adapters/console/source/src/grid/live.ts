// Changes of others in an open grid: a changed row is replaced in its place and marked, new rows wait behind a button.
import { type Signal, signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { type Change, type Follower, follow } from "../api/feed";
import { type Row, rowLabel } from "../api/meta";
import { say } from "../parts/Toast";
import { t } from "../words/words";
import type { Pages } from "./pages";
import { includesOf } from "./view";

const MARKED = 2_000; // milliseconds
const COLLECTED = 250; // milliseconds in which rows are collected for one request
const MOST = 100; // rows of a request

type Ids = ReadonlySet<string>;

export class Live implements Follower {
  /** Rows that changed just now. */
  readonly marked: Signal<Ids> = signal(new Set());
  /** Rows that the view has and the grid does not show. */
  readonly fresh: Signal<Ids> = signal(new Set());
  /** Whether rows are gone, or belong elsewhere. */
  readonly isMoved = signal(false);
  private early: Change[] = [];
  private readonly unsure = new Map<string, boolean>();
  private readonly incomplete = new Set<string>();
  private readonly timers = new Map<string, number>();
  private timer = 0;

  constructor(private readonly pages: Pages) {}

  get count(): number {
    return [...this.fresh.value].filter((id) => this.pages.indexOf(id) < 0).length;
  }

  arrived(changes: Change[]): void {
    // rows that are not there yet have these changes, or get them afterwards
    if (this.pages.total.peek() === null) {
      this.early.push(...changes);
      return;
    }
    const names = changes.map((change) => this.take(change)).filter((name) => name !== null);
    const [name] = names;
    if (names.length > 1) say(t("live.changed", { count: names.length }));
    else if (name !== undefined) say(t("live.changed.row", { name }));
  }

  missed(): void {
    this.fresh.value = new Set();
    this.isMoved.value = false;
    this.pages.refresh();
  }

  /** What arrived before the first rows. */
  begin(): void {
    const early = this.early;
    this.early = [];
    if (early.length) this.arrived(early);
  }

  close(): void {
    clearTimeout(this.timer);
  }

  /** Shows what a change does to the loaded rows; gives the name of the row where it is one of them. */
  private take(change: Change): string | null {
    const { view, entity } = this.pages;
    const row = this.pages.row(this.pages.indexOf(change.id));
    const isLeaving = (view.deleted ? ["restored", "purged"] : ["deleted", "purged", "left"]).includes(change.action);
    if (!row) {
      if (isLeaving) this.fresh.value = without(this.fresh.value, change.id);
      else this.missing(change);
      return null;
    }
    if (isLeaving ? row.isDeleted === !view.deleted : change.version <= Number(row.version)) return null;
    if (isLeaving) {
      this.pages.put({ ...row, isDeleted: !view.deleted });
      this.isMoved.value = true;
    } else {
      this.replace(row, change);
      const sorted = view.sort.length ? view.sort.map(([name]) => name) : [entity.sort.split(":")[0]];
      if (change.changed.some((name) => sorted.includes(name))) this.isMoved.value = true;
      if (this.pages.isNarrow) this.ask(change.id, false);
    }
    this.mark(change.id);
    return rowLabel(entity, row);
  }

  /** A row that is not loaded: a new one, or one that the filters may show now. */
  private missing({ id, action }: Change): void {
    const isNew = action !== "changed";
    if (this.pages.isNarrow) this.ask(id, isNew);
    else if (isNew) this.add(id);
  }

  private add(id: string): void {
    this.fresh.value = new Set(this.fresh.value).add(id);
    say(t("live.new", { count: this.fresh.value.size }));
  }

  /** The row as the change has it; one whose related rows are shown is read again with them. */
  private replace(row: Row, { id, data }: Change): void {
    const { view, entity } = this.pages;
    const shown = includesOf(entity, view.columns).split(",");
    const isOther = ({ name, relation }: { name: string; relation?: string | null }) =>
      relation && shown.includes(relation) && JSON.stringify(row[name]) !== JSON.stringify(data?.[name]);
    if (data && !entity.fields.some(isOther)) this.pages.put({ ...row, ...data });
    else {
      this.incomplete.add(id);
      this.collect();
    }
  }

  private ask(id: string, isNew: boolean): void {
    this.unsure.set(id, isNew);
    this.collect();
  }

  private collect(): void {
    this.timer ||= window.setTimeout(() => void this.read().catch(() => undefined), COLLECTED);
  }

  private async read(): Promise<void> {
    this.timer = 0;
    const incomplete = [...this.incomplete].slice(0, MOST);
    for (const id of incomplete) this.incomplete.delete(id);
    const unsure = [...this.unsure].slice(0, MOST);
    for (const [id] of unsure) this.unsure.delete(id);
    if (this.incomplete.size || this.unsure.size) this.collect();
    if (incomplete.length) await this.pages.renew(...incomplete);
    if (!unsure.length) return;
    const shown = await this.pages.shownOf(unsure.map(([id]) => id));
    for (const [id, isNew] of unsure) {
      const isLoaded = this.pages.indexOf(id) >= 0;
      if (isLoaded && !shown.has(id)) this.isMoved.value = true;
      // one of another page is not new
      else if (!isLoaded && shown.has(id) && (isNew || this.pages.isWhole)) this.add(id);
    }
  }

  private mark(id: string): void {
    this.marked.value = new Set(this.marked.value).add(id);
    clearTimeout(this.timers.get(id));
    const unmark = () => {
      this.timers.delete(id);
      this.marked.value = without(this.marked.value, id);
    };
    this.timers.set(id, window.setTimeout(unmark, MARKED));
  }
}

const without = (ids: Ids, id: string): Ids => new Set([...ids].filter((other) => other !== id));

/** The changes of others in the rows of these pages, as long as they are shown. */
export function useLive(pages: Pages): Live {
  const live = useMemo(() => new Live(pages), [pages]);
  // before the rows are asked for, so that none is missed
  useEffect(() => {
    const end = follow(pages.entity, live);
    return () => (end(), live.close());
  }, [live]);
  const isRead = pages.total.value !== null;
  useEffect(() => {
    if (isRead) live.begin();
  }, [live, isRead]);
  return live;
}
