// A row of the grid. A click on it opens it, unless it is on a control or a link, or ends the selection of a text.
import { useRef } from "preact/hooks";
import { type Entity, type Field, type Row, rowLabel } from "../api/meta";
import { t } from "../words/words";
import type { Selection } from "./bulk";
import { Cell, isNumber, titleOf } from "./cells";
import { BOXES, linkOf } from "./keys";

export const AT_SIDE = { insetInlineStart: "0" };
/** Columns on a card below the name of the row; a telephone shows the others on the page of the row. */
export const ON_CARD = 6;
/** Whether a field takes a line of a card: beside its title, a time does not fit into half of one. */
export const isWide = (field: Field) => field.kind === "timestamp";
/** The column that names a row: the first line of a card. */
export const namedColumn = (columns: Field[], { display }: Entity) =>
  Math.max(
    0,
    columns.findIndex(({ name }) => name === display),
  );
const DOUBLE = 220; // milliseconds in which a click may become a double one
const OTHERS = "a:not(.opens), button, input, label, select, textarea";

export const classesOf = (field: Field, offset: number | undefined) =>
  `${isNumber(field) ? "number" : ""} ${offset === undefined ? "" : "pinned"}`;

/** What marks the active cell, which the focused grid names as its descendant. */
export const activeCell = (isActive: boolean, classes: string) => ({
  id: isActive ? "active-cell" : undefined,
  class: isActive ? `${classes} active` : classes,
});

interface Props {
  index: number;
  row: Row | undefined;
  entity: Entity;
  columns: Field[];
  pinned: (number | undefined)[];
  selection?: Selection;
  active: number | null;
  isOpen: boolean;
  /** Whether somebody else changed it just now. */
  isMarked: boolean;
  onActive: (column: number) => void;
  open: (row: Row) => void;
  /** Edits the cell; undefined where nothing can be edited. */
  edit?: (row: Row, field: Field, cell: Element) => boolean;
}

/** Whether a text within the element is selected: the click that ends a selection opens nothing. */
function hasSelection(element: Element): boolean {
  const selection = getSelection();
  return !!selection && !selection.isCollapsed && selection.containsNode(element, true);
}

export function BodyRow({ index, row, entity, columns, pinned, selection, active, isOpen, isMarked, ...on }: Props) {
  const isSelected = !!row && !!selection?.ids.value.has(row.id);
  const timer = useRef(0);
  function click(event: MouseEvent): void {
    const target = event.target as Element;
    if (!row || event.button > 1 || target.closest(OTHERS)) return;
    const isLink = !!target.closest("a");
    if (event.ctrlKey || event.metaKey || event.button === 1) {
      if (!isLink) window.open(linkOf(entity, row), "_blank", "noopener");
      return;
    }
    if (event.shiftKey || event.altKey || (!isLink && hasSelection(event.currentTarget as Element))) return;
    event.preventDefault();
    clearTimeout(timer.current);
    if (isLink || !on.edit) on.open(row);
    else if (event.detail < 2) timer.current = window.setTimeout(() => on.open(row), DOUBLE);
  }
  function doubleClick(event: MouseEvent): void {
    const cell = (event.target as Element).closest("td");
    const field = cell && columns[cell.cellIndex - (selection ? 1 : 0)];
    if (!row || !field || !on.edit || (event.target as Element).closest("input, label")) return;
    clearTimeout(timer.current);
    getSelection()?.removeAllRanges();
    if (!on.edit(row, field, cell)) on.open(row);
  }
  const named = namedColumn(columns, entity);
  /** What tells the styles of cards about a cell. */
  const onCard = (column: number) =>
    column === named ? "names" : column > ON_CARD ? "beyond" : isWide(columns[column]!) ? "wide" : "";
  return (
    <tr
      aria-rowindex={index + 2}
      aria-selected={selection ? isSelected : undefined}
      aria-current={isOpen || undefined}
      class={`${row?.isDeleted ? "deleted" : ""} ${isMarked ? "marked" : ""}`}
      onClick={click}
      onAuxClick={click}
      onDblClick={doubleClick}
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
          {...activeCell(active === column, `${classesOf(field, pinned[column])} ${onCard(column)}`)}
          data-title={titleOf(field)}
          style={pinned[column] === undefined ? undefined : { insetInlineStart: `${pinned[column]}px` }}
          onClick={() => on.onActive(column)}
        >
          {!row ? (
            <span class="waiting" />
          ) : column === 0 ? (
            <a class="opens" href={linkOf(entity, row)} tabIndex={-1}>
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
