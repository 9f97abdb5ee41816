// Keys of the grid: arrows move the active cell, Enter opens its row, Space selects it.
import { type Signal, useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect } from "preact/hooks";
import type { Field } from "../api/meta";
import { go } from "../session/routes";
import { rowHeight } from "../session/theme";
import { linkOf } from "./Grid";
import type { Pages } from "./pages";
import type { Selection } from "./selection";

interface Asked {
  pages: Pages;
  columns: Field[];
  box: RefObject<HTMLDivElement | null>;
  selection?: Selection;
  hasSelection: boolean;
}

export interface Active {
  row: number;
  column: number;
}

export function useKeys({ pages, columns, box, selection }: Asked) {
  const active: Signal<Active | null> = useSignal<Active | null>(null);

  useEffect(() => {
    active.value = null;
  }, [pages]);

  function show(row: number): void {
    const element = box.current;
    if (!element) return;
    const size = rowHeight();
    const [from, to] = [row * size, (row + 2) * size];
    if (from < element.scrollTop) element.scrollTop = from;
    else if (to > element.scrollTop + element.clientHeight) element.scrollTop = to - element.clientHeight;
    requestAnimationFrame(() =>
      document.getElementById("active-cell")?.scrollIntoView({ block: "nearest", inline: "nearest" }),
    );
  }

  function onKeyDown(event: KeyboardEvent): void {
    if (event.altKey || event.metaKey || !(event.target as Element).matches("table")) return;
    const at = active.value ?? { row: -1, column: 0 };
    const page = Math.max(1, Math.floor((box.current?.clientHeight ?? 400) / rowHeight()) - 2);
    const end = Math.max(0, pages.span - 1);
    const isRtl = document.documentElement.dir === "rtl";
    const sideways = (step: number) => ({ row: Math.max(0, at.row), column: at.column + (isRtl ? -step : step) });
    const moves: Record<string, () => Active> = {
      ArrowDown: () => ({ row: at.row + 1, column: at.column }),
      ArrowUp: () => ({ row: at.row - 1, column: at.column }),
      ArrowRight: () => sideways(1),
      ArrowLeft: () => sideways(-1),
      PageDown: () => ({ row: at.row + page, column: at.column }),
      PageUp: () => ({ row: at.row - page, column: at.column }),
      Home: () => (event.ctrlKey ? { row: 0, column: 0 } : { row: Math.max(0, at.row), column: 0 }),
      End: () =>
        event.ctrlKey ? { row: end, column: at.column } : { row: Math.max(0, at.row), column: columns.length - 1 },
    };
    const row = pages.row(at.row);
    if (moves[event.key]) {
      const to = moves[event.key]!();
      active.value = {
        row: Math.min(end, Math.max(0, to.row)),
        column: Math.min(columns.length - 1, Math.max(0, to.column)),
      };
      show(active.value.row);
    } else if (event.key === "Enter" && row) void go(linkOf(pages.entity, row));
    else if (event.key === " " && row && selection) selection.toggle(row);
    else if (event.key === "Escape" && selection?.ids.value.size) selection.clear();
    else return;
    event.preventDefault();
  }

  return { active, onKeyDown, activeId: active.value ? "active-cell" : undefined };
}
