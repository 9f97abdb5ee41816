// The grid: a real table of which only the rows in the window exist, between two spacers.
import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Entity, Field, Row } from "../api/meta";
import { Icon } from "../parts/Icon";
import { Fresh } from "../parts/Live";
import { Failure, Notice } from "../parts/States";
import { reasonText, say } from "../parts/Toast";
import { go } from "../session/routes";
import { rowHeight } from "../session/theme";
import { number, t } from "../words/words";
import { AT_SIDE, activeCell, BodyRow, isWide, namedColumn, ON_CARD } from "./BodyRow";
import type { Selection } from "./bulk";
import { entityTitle, titleOf } from "./cells";
import { type Edited, Editor, mayEdit } from "./Editor";
import { filterName } from "./filters";
import { Header } from "./Header";
import { BOXES, HEADERS, linkOf, useKeys } from "./keys";
import { useLayout } from "./layout";
import { useLive } from "./live";
import { Peek } from "./Peek";
import type { Pages } from "./pages";
import type { Layout, View } from "./view";
import { fittedWidths, ownWidths } from "./widths";

const OVERSCAN = 8;
const SELECT = 40; // pixels of the column with the boxes
/** A window in which rows are cards. */
const TELEPHONE = "(max-width: 760px)";
const SETTLED = 40; // milliseconds without scrolling before pages are asked for

interface Props {
  pages: Pages;
  view: View;
  selection?: Selection;
  onSort: (sort: View["sort"]) => void;
  isShort?: boolean;
  empty?: preact.ComponentChildren;
  /** Beside the number of rows. */
  foot?: preact.ComponentChildren;
  /** Shows a row beside the grid, and leads into it where `isEntered`; without it the page of the row opens. */
  open?: (row: Row, isEntered: boolean) => void;
  /** The row that is open beside the grid: the active row follows it, and it follows the active row. */
  openId?: string;
  /** Changes the order and the widths of the columns. */
  onLayout: (layout: Layout) => void;
}

export function Grid({ pages, view, selection, onSort, isShort, empty, foot, ...beside }: Props) {
  const { entity } = pages;
  const box = useRef<HTMLDivElement>(null);
  const top = useSignal(0);
  const height = useSignal(600);
  const wide = useSignal(0);
  const columns = useMemo(
    () => view.columns.map((name) => entity.fields.find((field) => field.name === name)).filter((field) => !!field),
    [entity, view.columns],
  );
  wide.value;
  const isCards = matchMedia(TELEPHONE).matches;
  const size = isCards ? cardHeight(columns, entity) : rowHeight();
  const open = (row: Row, isEntered = false) => {
    if (beside.open) beside.open(row, isEntered);
    else void go(linkOf(entity, row));
  };
  const [edited, setEdited] = useState<Edited | null>(null);
  const edit = (row: Row, field: Field, cell: Element) => {
    const isPossible = mayEdit(entity, row, field);
    if (isPossible) setEdited({ row, field, cell });
    return isPossible;
  };
  function endEditing(): void {
    setEdited(null);
    box.current?.querySelector("table")?.focus({ preventScroll: true });
  }
  const layout = useLayout(view, columns, box, beside.onLayout);
  const keys = useKeys({ pages, columns, box, size, selection, open, edit, layout, openId: beside.openId });

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const measure = () => {
      height.value = element.clientHeight;
      wide.value = element.clientWidth;
    };
    // before the first frame, which would have narrow columns
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  const live = useLive(pages);
  function showFresh(): void {
    if (box.current) box.current.scrollTop = 0;
    live.missed();
    // the button is gone
    box.current?.querySelector("table")?.focus({ preventScroll: true });
  }

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

  const hasRows = pages.row(0) !== undefined;
  const own = useMemo(() => ownWidths(columns, pages), [columns, pages, hasRows]);

  const called = (key: string) => filterName(entity, key);
  if (pages.error.value && pages.total.value === null)
    return <Failure error={pages.error.value} retry={() => pages.retry()} name={called} />;
  const fresh = <Fresh live={live} show={showFresh} />;
  if (pages.total.value === 0)
    return (
      <>
        {fresh}
        {empty ?? <Notice icon="inbox" title={t("grid.empty")} />}
      </>
    );

  const rows = Array.from({ length: Math.max(0, last - first) }, (_, index) => first + index);
  // Elements of rows that leave the window serve those that come: a jump writes texts and makes nothing.
  const slots = Math.ceil(height.value / size) + 2 * OVERSCAN + 2;
  const widths = fittedWidths(columns, own, entity, wide.value - (selection ? SELECT : 0), layout.widths);
  const pinned = pinnedOffsets(widths, view.pinned, !!selection);
  const width = widths.reduce((sum, column) => sum + column, selection ? SELECT : 0);
  const pinnedWidth = widths.slice(0, view.pinned).reduce((sum, column) => sum + column, selection ? SELECT : 0);
  const activeIn = (row: number) => (keys.active.value?.row === row ? keys.active.value.column : null);
  const selectAll = selection && (
    <input
      type="checkbox"
      tabIndex={-1}
      aria-label={t("select.loaded")}
      checked={selection.ids.value.size > 0}
      onChange={() => selection.toggleAll(pages.loaded())}
    />
  );
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
      {fresh}
      {isCards && (
        <CardTools columns={columns} view={view} onSort={onSort}>
          {selectAll && (
            <label class="check">
              {selectAll}
              <span aria-hidden="true">{t("select.loaded")}</span>
            </label>
          )}
        </CardTools>
      )}
      <div
        ref={box}
        class={`grid ${isShort ? "short" : ""} ${isCards ? "carded" : ""} ${selection ? "" : "unselected"}`}
        style={{ "--pinned": `${pinnedWidth}px`, "--card": `${size}px` }}
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
          style={isCards ? undefined : { width: `${width}px` }}
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
                  <label>{selectAll}</label>
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
                  layout={layout}
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
                isMarked={live.marked.value.has(pages.row(index)?.id ?? "")}
                isOpen={!!beside.openId && pages.row(index)?.id === beside.openId}
                onActive={(column) => (keys.active.value = { row: index, column })}
                open={(row) => {
                  // the keys go on from the row that was clicked
                  box.current?.querySelector("table")?.focus({ preventScroll: true });
                  open(row);
                }}
                edit={entity.may.update && !isShort ? edit : undefined}
              />
            ))}
            <Spacer rows={span - last} size={size} columns={columns.length + 1} />
          </tbody>
        </table>
      </div>
      <Peek box={box} />
      {edited && (
        <Editor
          key={`${edited.row.id} ${edited.field.name}`}
          {...edited}
          entity={entity}
          renew={(id) => pages.renew(id)}
          close={endEditing}
        />
      )}
      <p class="foot">
        <span>{pages.total.value === null ? t("loading") : totalText(pages)}</span>
        {pages.span < (pages.total.value ?? 0) && <span>{t("grid.beyond", { count: pages.span })}</span>}
        {foot}
      </p>
    </>
  );
}

/** The height of a card in pixels: its name, and lines of two columns each; the style sheet has the same lines. */
function cardHeight(columns: Field[], entity: Entity): number {
  const named = namedColumn(columns, entity);
  let places = 0;
  for (const [column, field] of columns.slice(0, ON_CARD + 1).entries())
    if (column !== named) places = isWide(field) ? Math.ceil(places / 2) * 2 + 2 : places + 1;
  return 26 + Math.ceil(places / 2) * 22 + 17;
}

/** What the header does, above cards: selects all rows, and sorts them. */
function CardTools({ columns, view, onSort, children }: CardToolsProps) {
  const [sorted] = view.sort;
  return (
    <div class="row card-tools">
      {children}
      <span class="space" />
      <select
        aria-label={t("sort")}
        value={sorted?.join(":") ?? ""}
        onChange={(event) => {
          const [name, direction] = event.currentTarget.value.split(":");
          onSort(name ? [[name, direction === "desc" ? "desc" : "asc"]] : []);
        }}
      >
        <option value="">{t("sort")}</option>
        {columns
          .filter((field) => field.sortable)
          .flatMap((field) => [
            <option key={`${field.name}:asc`} value={`${field.name}:asc`}>{`${titleOf(field)} ↑`}</option>,
            <option key={`${field.name}:desc`} value={`${field.name}:desc`}>{`${titleOf(field)} ↓`}</option>,
          ])}
      </select>
    </div>
  );
}

interface CardToolsProps {
  columns: Field[];
  view: View;
  onSort: Props["onSort"];
  children: preact.ComponentChildren;
}

function totalText(pages: Pages): string {
  const atLeast = pages.atLeast.value;
  if (atLeast !== null) return t("rows.many", { number: number(atLeast) });
  return t("rows", { count: pages.total.value ?? 0 });
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
