// Keys of the grid: arrows move the active cell, headers among them. Enter presses what the cell holds, else it edits the
// cell, else it opens the row; F2 edits in any case, and Space selects the row.
import { type Signal, useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { type Entity, type Field, type Row, TRAIL } from "../api/meta";
import { href } from "../session/routes";
import type { Selection } from "./bulk";
import type { LayoutOf } from "./layout";
import { PEEK } from "./Peek";
import type { Pages } from "./pages";

interface Asked {
  pages: Pages;
  columns: Field[];
  box: RefObject<HTMLDivElement | null>;
  /** Height of a row in pixels. */
  size: number;
  selection?: Selection;
  open: (row: Row, isEntered?: boolean) => void;
  /** Edits the cell; false where it cannot be edited. */
  edit: (row: Row, field: Field, cell: Element) => boolean;
  layout: LayoutOf;
  openId?: string;
}

export function linkOf(entity: Entity, row: Pick<Row, "id">): string {
  return entity.plural === TRAIL ? href("audit", "event", row.id) : href("rows", entity.plural, row.id);
}

const SIDE_STEPS: Partial<Record<string, number>> = { ArrowLeft: -1, ArrowRight: 1 };
const FOLLOWED = 120; // milliseconds without another key before the row beside the grid follows

/** The row of the headers, and the column of the boxes that select. */
export const HEADERS = -1;
export const BOXES = -1;

export interface Active {
  row: number;
  column: number;
}

const cell = () => document.getElementById("active-cell");

/** A click on the link, the title of a column or the box in a cell, with the keys that are held down. */
const click = (held: Element, { shiftKey, ctrlKey }: KeyboardEvent) =>
  held.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, shiftKey, ctrlKey }));

export function useKeys({ pages, columns, box, size, selection, open, edit, layout, openId }: Asked) {
  const active: Signal<Active | null> = useSignal<Active | null>(null);

  useEffect(() => {
    // whoever sorts by a header stays on it
    if (active.value?.row !== HEADERS) active.value = null;
  }, [pages]);

  const timer = useRef(0);
  function follow(index: number): void {
    clearTimeout(timer.current);
    const row = openId ? pages.row(index) : undefined;
    if (row && row.id !== openId) timer.current = window.setTimeout(() => open(row), FOLLOWED);
  }

  function show(row: number): void {
    const element = box.current;
    if (!element) return;
    const [from, to] = [row * size, (row + 2) * size];
    // headers are always in sight
    if (row !== HEADERS && from < element.scrollTop) element.scrollTop = from;
    else if (to > element.scrollTop + element.clientHeight) element.scrollTop = to - element.clientHeight;
    requestAnimationFrame(() => cell()?.scrollIntoView({ block: "nearest", inline: "nearest" }));
  }

  function onKeyDown(event: KeyboardEvent): void {
    if (event.metaKey || !(event.target as Element).matches("table")) return;
    // the first key leads to the first row, or to its header
    const at = active.value ?? { row: ["ArrowDown", "ArrowUp"].includes(event.key) ? HEADERS : 0, column: 0 };
    const isHeader = active.value?.row === HEADERS && (active.value.column ?? BOXES) >= 0;
    const sideStep = SIDE_STEPS[event.key];
    if (isHeader && sideStep && (event.altKey || event.shiftKey)) {
      const step = document.documentElement.dir === "rtl" ? -sideStep : sideStep;
      event.preventDefault();
      const { name } = columns[at.column]!;
      if (event.altKey) layout.widen(name, step);
      else active.value = { row: HEADERS, column: layout.shift(name, step) };
      return;
    }
    const chip = event.altKey && event.key === "Enter" && cell()?.querySelector("[data-peek]");
    if (chip) {
      // after this key, which ends a look as every other does
      event.preventDefault();
      chip.dispatchEvent(new CustomEvent(PEEK, { bubbles: true }));
    }
    if (event.altKey) return;
    const page = Math.max(1, Math.floor((box.current?.clientHeight ?? 400) / size) - 2);
    const end = Math.max(0, pages.span - 1);
    const isRtl = document.documentElement.dir === "rtl";
    const sideways = (step: number) => ({ row: at.row, column: at.column + (isRtl ? -step : step) });
    const moves: Record<string, () => Active> = {
      ArrowDown: () => ({ row: at.row + 1, column: at.column }),
      ArrowUp: () => ({ row: at.row - 1, column: at.column }),
      ArrowRight: () => sideways(1),
      ArrowLeft: () => sideways(-1),
      PageDown: () => ({ row: at.row + page, column: at.column }),
      PageUp: () => ({ row: Math.max(0, at.row - page), column: at.column }),
      Home: () => ({ row: event.ctrlKey ? 0 : at.row, column: 0 }),
      End: () => (event.ctrlKey ? { row: end, column: at.column } : { row: at.row, column: columns.length - 1 }),
    };
    const row = active.value ? pages.row(at.row) : undefined;
    const held = cell()?.querySelector("a, button, input");
    const field = columns[at.column];
    const isOpener = !!held?.matches(".opens") && event.key === "Enter" && !event.ctrlKey && !event.shiftKey;
    if (moves[event.key]) {
      const to = moves[event.key]!();
      active.value = {
        row: Math.min(end, Math.max(HEADERS, to.row)),
        column: Math.min(columns.length - 1, Math.max(selection ? BOXES : 0, to.column)),
      };
      show(active.value.row);
      if (active.value.row !== at.row) follow(active.value.row);
    } else if (event.key === " " && row) selection?.toggle(row);
    else if (event.key === "F2" && row && field && cell()) edit(row, field, cell()!);
    else if (isOpener && row) open(row, true);
    else if (held && (event.key === "Enter" || (event.key === " " && at.row === HEADERS))) click(held, event);
    else if (event.key === "Enter" && row && !(field && edit(row, field, cell()!))) open(row, true);
    else if (event.key === "Enter" && row) event.stopPropagation();
    else if (event.key === "Escape" && selection?.ids.value.size) selection.clear();
    else return;
    event.preventDefault();
  }

  return { active, onKeyDown, activeId: active.value ? "active-cell" : undefined };
}
