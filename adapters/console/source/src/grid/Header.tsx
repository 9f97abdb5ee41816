// The header of a column: its title behind the icon of its kind, and the order by it.
import type { Field } from "../api/meta";
import { Icon } from "../parts/Icon";
import { activeCell, classesOf } from "./BodyRow";
import { titleOf } from "./cells";
import { kindIcon } from "./kinds";
import type { LayoutOf } from "./layout";
import { sortedBy, type View } from "./view";

interface Props {
  field: Field;
  view: View;
  offset?: number;
  isActive: boolean;
  onSort: (sort: View["sort"]) => void;
  layout: LayoutOf;
}

export function Header({ field, view, offset, isActive, onSort, layout }: Props) {
  const direction = view.sort.find(([name]) => name === field.name)?.[1];
  const cell = activeCell(isActive, classesOf(field, offset));
  const aria = direction === "asc" ? "ascending" : direction === "desc" ? "descending" : undefined;
  const style = offset === undefined ? undefined : { insetInlineStart: `${offset}px` };
  const title = (
    <>
      <Icon name={kindIcon(field)} />
      <bdi>{titleOf(field)}</bdi>
    </>
  );
  return (
    <th
      {...cell}
      scope="col"
      aria-sort={aria}
      style={style}
      title={field.help ?? undefined}
      data-drop={layout.dropped(field.name)}
      onPointerDown={(event) => layout.move(field.name, event)}
    >
      {field.sortable ? (
        <button
          type="button"
          tabIndex={-1}
          onClick={(event) => !layout.hasMoved() && onSort(sortedBy(view, field, event.shiftKey))}
        >
          {title}
          {direction && <Icon name={direction === "asc" ? "arrow-up" : "arrow-down"} />}
        </button>
      ) : (
        <span class="head-cell">{title}</span>
      )}
      {/* by keys, the active header does the same */}
      <span
        class="resizer"
        aria-hidden="true"
        onPointerDown={(event) => layout.resize(field.name, event)}
        onDblClick={() => layout.fit(field.name)}
      />
    </th>
  );
}
