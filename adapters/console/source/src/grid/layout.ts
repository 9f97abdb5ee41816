// Widths and order of the columns: by dragging the edge of a header or the header itself, and by keys.
import { useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useRef } from "preact/hooks";
import type { Field } from "../api/meta";
import { say } from "../parts/Toast";
import { t } from "../words/words";
import { titleOf } from "./cells";
import { type Layout, NARROWEST, type View, WIDEST } from "./view";

const STEP = 16; // pixels of a key
const BEGUN = 6; // pixels of a drag that is no click

export type LayoutOf = ReturnType<typeof useLayout>;

const bounded = (width: number) => Math.min(WIDEST, Math.max(NARROWEST, Math.round(width)));

export function useLayout(
  view: View,
  columns: Field[],
  box: RefObject<HTMLDivElement | null>,
  change: (layout: Layout) => void,
) {
  /** The width of the column that is dragged now. */
  const dragged = useSignal<{ name: string; width: number } | null>(null);
  const drop = useSignal<{ name: string; side: "before" | "after" } | null>(null);
  const moved = useRef(false);
  const names = columns.map(({ name }) => name);
  const headers = () => [...(box.current?.querySelectorAll<HTMLElement>("thead th:not(.select)") ?? [])];
  const widthNow = (name: string) => headers()[names.indexOf(name)]?.offsetWidth ?? NARROWEST;
  const isRtl = () => document.documentElement.dir === "rtl";
  const widthsWith = (name: string, width: number) => ({ ...view.widths, ...Object.fromEntries([[name, width]]) });

  /** Follows the pointer until it is released. */
  function follow(event: PointerEvent, onMove: (move: PointerEvent) => void, onEnd: () => void): void {
    const target = event.currentTarget as HTMLElement;
    const end = () => {
      removeEventListener("pointermove", onMove);
      removeEventListener("pointerup", end);
      removeEventListener("pointercancel", end);
      onEnd();
    };
    if (target.classList.contains("resizer")) event.preventDefault();
    addEventListener("pointermove", onMove);
    addEventListener("pointerup", end);
    addEventListener("pointercancel", end);
  }

  function resize(name: string, event: PointerEvent): void {
    event.stopPropagation();
    if (event.button !== 0) return;
    const [from, width] = [event.clientX, widthNow(name)];
    const onMove = ({ clientX }: PointerEvent) => {
      dragged.value = { name, width: bounded(width + (isRtl() ? from - clientX : clientX - from)) };
    };
    follow(event, onMove, () => {
      const last = dragged.peek();
      dragged.value = null;
      if (last) change({ widths: widthsWith(name, last.width) });
    });
  }

  /** Where the pointer would put a column: before or after the column that it is over. */
  function placeAt({ clientX }: PointerEvent): typeof drop.value {
    const at = headers().findIndex((header) => {
      const { left, right } = header.getBoundingClientRect();
      return clientX >= left && clientX <= right;
    });
    const name = names[at];
    if (!name) return null;
    const { left, width } = headers()[at]!.getBoundingClientRect();
    const isFirstHalf = clientX < left + width / 2 !== isRtl();
    return { name, side: isFirstHalf ? "before" : "after" };
  }

  function move(name: string, event: PointerEvent): void {
    moved.current = false;
    // a finger scrolls
    if (event.button !== 0 || event.pointerType === "touch") return;
    const onMove = (at: PointerEvent) => {
      moved.current ||= Math.abs(at.clientX - event.clientX) > BEGUN;
      if (moved.current) drop.value = placeAt(at);
    };
    follow(event, onMove, () => {
      const place = drop.peek();
      drop.value = null;
      if (!place || place.name === name) return;
      const others = names.filter((other) => other !== name);
      const at = others.indexOf(place.name) + (place.side === "after" ? 1 : 0);
      put(others.toSpliced(at, 0, name));
    });
  }

  function put(next: string[]): void {
    if (next.join() !== names.join()) change({ columns: next });
  }

  /** Moves a column by keys; returns its place. */
  function shift(name: string, step: number): number {
    const from = names.indexOf(name);
    const to = Math.max(0, Math.min(names.length - 1, from + step));
    put(names.toSpliced(from, 1).toSpliced(to, 0, name));
    const field = columns[from];
    if (field) say(t("columns.place", { name: titleOf(field), place: to + 1, count: names.length }));
    return to;
  }

  function widen(name: string, step: number): void {
    const width = bounded(widthNow(name) + step * STEP);
    change({ widths: widthsWith(name, width) });
    say(t("columns.width", { width }));
  }

  const { value } = dragged;
  return {
    widths: value ? widthsWith(value.name, value.width) : view.widths,
    resize,
    move,
    shift,
    widen,
    /** The width of its contents again. */
    fit: (name: string) =>
      change({ widths: Object.fromEntries(Object.entries(view.widths).filter(([n]) => n !== name)) }),
    hasMoved: () => moved.current,
    dropped: (name: string) => (drop.value?.name === name ? drop.value.side : undefined),
  };
}
