// A look at the row that a cell refers to: while the pointer rests on its chip, or by Alt+Enter.
import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { call } from "../api/api";
import { entityOf, type Row, rowLabel } from "../api/meta";
import { RowName } from "../screens/names";
import { Cell, titleOf } from "./cells";
import { includesOf } from "./view";

const RESTS = 350; // milliseconds of a pointer that rests
const MOST = 6; // fields
/** The event by which the keys of a grid ask for it, at the chip. */
export const PEEK = "tenantry-peek";

/** Fields of the service that tell little of a row. */
const QUIET = /^(id|version|tenantId|createdBy|updated(At|By)|isDeleted|deleted(At|By))$/;
const isEmpty = (value: unknown) => value === null || value === undefined || value === "";

interface Seen {
  plural: string;
  row: Row;
  left: number;
  top: number;
}

const isChip = (target: EventTarget | null) => (target as Element | null)?.closest<HTMLElement>("[data-peek]") ?? null;

async function look(chip: HTMLElement): Promise<Seen | null> {
  const [plural = "", id = ""] = (chip.dataset.peek ?? "").split(" ");
  const entity = entityOf(plural);
  if (!entity) return null;
  const include = includesOf(entity, entity.columns);
  const { data } = await call<Row>("GET", `/api/${plural}/${encodeURIComponent(id)}`, {
    exact: true,
    query: include ? { include } : undefined,
  });
  const { left, bottom, top } = chip.getBoundingClientRect();
  return { plural, row: data, left, top: bottom + 260 > innerHeight ? top - 8 : bottom + 4 };
}

export function Peek({ box }: { box: RefObject<HTMLElement | null> }) {
  const [seen, setSeen] = useState<Seen | null>(null);
  const shown = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const grid = box.current;
    if (!grid) return;
    let timer = 0;
    let asked = 0;
    const end = () => {
      clearTimeout(timer);
      asked += 1;
      setSeen(null);
    };
    const begin = (chip: HTMLElement, wait: number) => {
      end();
      const now = asked;
      timer = window.setTimeout(() => {
        // a row that cannot be read is shown by its name, as before
        look(chip).then(
          (found) => now === asked && setSeen(found),
          () => undefined,
        );
      }, wait);
    };
    const over = (event: PointerEvent) => {
      const chip = event.pointerType === "mouse" ? isChip(event.target) : null;
      if (chip) begin(chip, RESTS);
      else end();
    };
    const byKey = (event: Event) => {
      const chip = isChip(event.target);
      if (chip) begin(chip, 0);
    };
    const others: (keyof HTMLElementEventMap)[] = ["pointerleave", "pointerdown", "scroll", "keydown", "blur"];
    grid.addEventListener("pointerover", over);
    grid.addEventListener(PEEK, byKey);
    for (const name of others) grid.addEventListener(name, end, true);
    return () => {
      end();
      grid.removeEventListener("pointerover", over);
      grid.removeEventListener(PEEK, byKey);
      for (const name of others) grid.removeEventListener(name, end, true);
    };
  }, []);
  useEffect(() => {
    const element = shown.current;
    if (!element || !seen) return;
    element.showPopover();
    element.style.left = `${Math.max(8, Math.min(seen.left, innerWidth - element.offsetWidth - 8))}px`;
    const isAbove = seen.top + element.offsetHeight > innerHeight;
    element.style.top = `${Math.max(8, isAbove ? seen.top - element.offsetHeight : seen.top)}px`;
  }, [seen]);
  const entity = seen && entityOf(seen.plural);
  if (!seen || !entity) return null;
  const fields = entity.fields
    .filter(({ name }) => name !== entity.display && !QUIET.test(name) && !isEmpty(seen.row[name]))
    .slice(0, MOST);
  return (
    <div ref={shown} class="popover peek" popover="manual" role="status">
      <strong>
        <RowName target={entity} name={rowLabel(entity, seen.row)} />
      </strong>
      <dl class="facts small">
        {fields.map((field) => (
          <>
            <dt>
              <bdi>{titleOf(field)}</bdi>
            </dt>
            <dd>
              <Cell entity={entity} field={field} row={seen.row} isPlain />
            </dd>
          </>
        ))}
      </dl>
    </div>
  );
}
