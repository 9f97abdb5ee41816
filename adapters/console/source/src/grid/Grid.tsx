// The grid: a real table of which only the rows in the window exist, between two spacers.
import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { type Entity, type Field, type Row, rowLabel, TRAIL } from "../api/meta";
import { Icon } from "../parts/Icon";
import { Failure, Notice } from "../parts/States";
import { reasonText, say } from "../parts/Toast";
import { go, href } from "../session/routes";
import { rowHeight } from "../session/theme";
import { number, t } from "../words/words";
import type { Selection } from "./bulk";
import { Cell, entityTitle, isNumber, titleOf, widthOf } from "./cells";
import { filterName } from "./filters";
import { BOXES, HEADERS, useKeys } from "./keys";
import type { Pages } from "./pages";
import type { View } from "./view";

const OVERSCAN = 8;
const SELECT = 40; // pixels of the column with the boxes
const AT_SIDE = { insetInlineStart: "0" };
const SETTLED = 40; // milliseconds without scrolling before pages are asked for

interface Props {
  pages: Pages;
  view: View;
  selection?: Selection;
  onSort: (field: Field, isAdded: boolean) => void;
  isShort?: boolean;
  empty?: preact.ComponentChildren;
  /** Beside the number of rows. */
  foot?: preact.ComponentChildren;
}

export function linkOf(entity: Entity, row: Row): string {
  return entity.plural === TRAIL ? href("audit", "event", row.id) : href("rows", entity.plural, row.id);
}

export function Grid({ pages, view, selection, onSort, isShort, empty, foot }: Props) {
  const { entity } = pages;
  const box = useRef<HTMLDivElement>(null);
  const top = useSignal(0);
  const height = useSignal(600);
  const wide = useSignal(0);
  const size = rowHeight();
  const columns = useMemo(
    () => view.columns.map((name) => entity.fields.find((field) => field.name === name)).filter((field) => !!field),
    [entity, view.columns],
  );
  const keys = useKeys({ pages, columns, box, selection });

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const observer = new ResizeObserver(() => {
      height.value = element.clientHeight;
      wide.value = element.clientWidth;
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  pages.arrived.value;
  const span = pages.total.value === null ? 30 : pages.span;
  const first = Math.max(0, Math.floor(top.value / size) - OVERSCAN);
  const last = Math.min(span, Math.ceil((top.value + height.value) / size) + OVERSCAN);

  useEffect(() => {
    const timer = setTimeout(
      () => pages.want(first, Math.max(first, last - 1)),
      pages.total.peek() === null ? 0 : SETTLED,
    );
    return () => clearTimeout(timer);
    // not after an error: asking again by itself would never end
  }, [pages, first, last, pages.arrived.value]);

  useEffect(() => {
    if (box.current) box.current.scrollTop = 0;
  }, [pages]);

  useSignalEffect(() => {
    const total = pages.total.value;
    if (total !== null) say(t("rows", { count: total }));
  });

  const called = (key: string) => filterName(entity, key);
  if (pages.error.value && pages.total.value === null)
    return <Failure error={pages.error.value} retry={() => pages.retry()} name={called} />;
  if (pages.total.value === 0) return <>{empty ?? <Notice icon="inbox" title={t("grid.empty")} />}</>;

  const rows = Array.from({ length: Math.max(0, last - first) }, (_, index) => first + index);
  // Elements of rows that leave the window serve those that come: a jump writes texts and makes nothing.
  const slots = Math.ceil(height.value / size) + 2 * OVERSCAN + 2;
  const widths = widthsOf(columns, entity, wide.value - (selection ? SELECT : 0));
  const pinned = pinnedOffsets(widths, view.pinned, !!selection);
  const width = widths.reduce((sum, column) => sum + column, selection ? SELECT : 0);
  const pinnedWidth = widths.slice(0, view.pinned).reduce((sum, column) => sum + column, selection ? SELECT : 0);
  const activeIn = (row: number) => (keys.active.value?.row === row ? keys.active.value.column : null);
  return (
    <>
      {pages.error.value ? (
        <div class="summary row" role="alert">
          <Icon name="circle-alert" />
          <span>{reasonText(pages.error.value, called)}</span>
          <button type="button" onClick={() => pages.retry()}>
            {t("again")}
          </button>
        </div>
      ) : null}
      <div
        ref={box}
        class={isShort ? "grid short" : "grid"}
        style={{ "--pinned": `${pinnedWidth}px` }}
        onScroll={(event) => (top.value = event.currentTarget.scrollTop)}
      >
        <table
          role="grid"
          tabIndex={0}
          aria-label={entityTitle(entity)}
          aria-busy={pages.total.value === null || undefined}
          aria-rowcount={span + 1}
          aria-colcount={columns.length + (selection ? 1 : 0)}
          aria-multiselectable={selection ? true : undefined}
          aria-activedescendant={keys.activeId}
          style={{ width: `${width}px` }}
          onKeyDown={keys.onKeyDown}
        >
          <colgroup>
            {selection && <col style={{ width: `${SELECT}px` }} />}
            {columns.map((field, index) => (
              <col key={field.name} style={{ width: `${widths[index]}px` }} />
            ))}
          </colgroup>
          <thead>
            <tr aria-rowindex={1}>
              {selection && (
                <th {...activeCell(activeIn(HEADERS) === BOXES, "select pinned")} scope="col" style={AT_SIDE}>
                  <label>
                    <input
                      type="checkbox"
                      tabIndex={-1}
                      aria-label={t("select.loaded")}
                      checked={selection.ids.value.size > 0}
                      onChange={() => selection.toggleAll(pages.loaded())}
                    />
                  </label>
                </th>
              )}
              {columns.map((field, index) => (
                <Header
                  key={field.name}
                  field={field}
                  view={view}
                  offset={pinned[index]}
                  isActive={activeIn(HEADERS) === index}
                  onSort={onSort}
                />
              ))}
            </tr>
          </thead>
          <tbody>
            <Spacer rows={first} size={size} columns={columns.length + 1} />
            {rows.map((index) => (
              <BodyRow
                key={index % slots}
                index={index}
                row={pages.row(index)}
                entity={entity}
                columns={columns}
                pinned={pinned}
                selection={selection}
                active={activeIn(index)}
                onActive={(column) => (keys.active.value = { row: index, column })}
              />
            ))}
            <Spacer rows={span - last} size={size} columns={columns.length + 1} />
          </tbody>
        </table>
      </div>
      <p class="foot">
        <span>{pages.total.value === null ? t("loading") : totalText(pages)}</span>
        {pages.span < (pages.total.value ?? 0) && <span>{t("grid.beyond", { count: pages.span })}</span>}
        {foot}
      </p>
    </>
  );
}

function totalText(pages: Pages): string {
  const total = pages.total.value ?? 0;
  return pages.isEstimate.value ? t("rows.about", { number: number(total) }) : t("rows", { count: total });
}

/** Widths of the columns in pixels; what the box has left over goes to all of them alike. */
function widthsOf(columns: Field[], entity: Entity, room: number): number[] {
  // on a telephone the column that names the row leaves room for another one
  const most = Math.max(160, room * 0.6);
  const own = columns.map((field) => Math.min(most, widthOf(field, field.name === entity.display)));
  const left = room - own.reduce((sum, width) => sum + width, 0);
  return left > 0 ? own.map((width) => width + Math.floor(left / own.length)) : own;
}

/** Distances from the side at which pinned columns stay, undefined for those that scroll. */
function pinnedOffsets(widths: number[], pinned: number, hasSelection: boolean): (number | undefined)[] {
  let offset = hasSelection ? SELECT : 0;
  return widths.map((width, index) => {
    if (index >= pinned) return undefined;
    const at = offset;
    offset += width;
    return at;
  });
}

const Spacer = ({ rows, size, columns }: { rows: number; size: number; columns: number }) =>
  rows > 0 ? (
    <tr class="spacer" aria-hidden="true">
      <td colSpan={columns} style={{ height: `${rows * size}px` }} />
    </tr>
  ) : null;

const classesOf = (field: Field, offset: number | undefined) =>
  `${isNumber(field) ? "number" : ""} ${offset === undefined ? "" : "pinned"}`;

/** What marks the active cell, which the focused grid names as its descendant. */
const activeCell = (isActive: boolean, classes: string) => ({
  id: isActive ? "active-cell" : undefined,
  class: isActive ? `${classes} active` : classes,
});

interface HeaderProps {
  field: Field;
  view: View;
  offset?: number;
  isActive: boolean;
  onSort: Props["onSort"];
}

function Header({ field, view, offset, isActive, onSort }: HeaderProps) {
  const direction = view.sort.find(([name]) => name === field.name)?.[1];
  const cell = activeCell(isActive, classesOf(field, offset));
  const aria = direction === "asc" ? "ascending" : direction === "desc" ? "descending" : undefined;
  const style = offset === undefined ? undefined : { insetInlineStart: `${offset}px` };
  return (
    <th {...cell} scope="col" aria-sort={aria} style={style} title={field.help ?? undefined}>
      {field.sortable ? (
        <button type="button" tabIndex={-1} onClick={(event) => onSort(field, event.shiftKey)}>
          <bdi>{titleOf(field)}</bdi>
          {direction && <Icon name={direction === "asc" ? "arrow-up" : "arrow-down"} />}
        </button>
      ) : (
        <span>
          <bdi>{titleOf(field)}</bdi>
        </span>
      )}
    </th>
  );
}

interface RowProps {
  index: number;
  row: Row | undefined;
  entity: Entity;
  columns: Field[];
  pinned: (number | undefined)[];
  selection?: Selection;
  active: number | null;
  onActive: (column: number) => void;
}

function BodyRow({ index, row, entity, columns, pinned, selection, active, onActive }: RowProps) {
  const isSelected = !!row && !!selection?.ids.value.has(row.id);
  return (
    <tr
      aria-rowindex={index + 2}
      aria-selected={selection ? isSelected : undefined}
      class={row?.isDeleted ? "deleted" : undefined}
      onDblClick={() => row && void go(linkOf(entity, row))}
    >
      {selection && (
        <td {...activeCell(active === BOXES, "select pinned")} style={AT_SIDE}>
          <label>
            <input
              type="checkbox"
              tabIndex={-1}
              aria-label={t("select.row", { name: rowLabel(entity, row) })}
              checked={isSelected}
              disabled={!row}
              onChange={() => row && selection.toggle(row)}
            />
          </label>
        </td>
      )}
      {columns.map((field, column) => (
        <td
          key={field.name}
          {...activeCell(active === column, classesOf(field, pinned[column]))}
          style={pinned[column] === undefined ? undefined : { insetInlineStart: `${pinned[column]}px` }}
          onClick={() => onActive(column)}
        >
          {!row ? (
            <span class="waiting" />
          ) : column === 0 ? (
            <a href={linkOf(entity, row)} tabIndex={-1}>
              {row[field.name] === null || row[field.name] === undefined || row[field.name] === "" ? (
                <span class="muted">{row.id.slice(0, 8)}</span>
              ) : (
                <Cell entity={entity} field={field} row={row} isPlain />
              )}
            </a>
          ) : (
            <Cell entity={entity} field={field} row={row} />
          )}
        </td>
      ))}
    </tr>
  );
}
