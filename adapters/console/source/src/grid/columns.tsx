// Which columns a grid shows, in which order, and how many stay in sight.
import type { Entity } from "../api/meta";
import { Button } from "../parts/Button";
import { Icon } from "../parts/Icon";
import { Menu } from "../parts/Menu";
import { isDense } from "../session/theme";
import { t } from "../words/words";
import { titleOf } from "./cells";
import { defaultColumns, type View } from "./view";

interface Props {
  entity: Entity;
  view: View;
  change: (part: Partial<View>) => void;
}

export function ColumnsMenu({ entity, view, change }: Props) {
  const isOwn = view.columns.join() !== defaultColumns(entity).join() || Object.keys(view.widths).length > 0;
  return (
    <Menu label={t("columns")} icon="columns-3" hideText hasMarker={isOwn}>
      {() => <ColumnsForm entity={entity} view={view} change={change} />}
    </Menu>
  );
}

function ColumnsForm({ entity, view, change }: Props) {
  const shown = view.columns;
  const hidden = entity.fields.map((field) => field.name).filter((name) => !shown.includes(name));
  const title = (name: string) => {
    const field = entity.fields.find((candidate) => candidate.name === name);
    return field ? titleOf(field) : name;
  };
  function move(index: number, step: number): void {
    const columns = [...shown];
    const [taken] = columns.splice(index, 1);
    if (taken) columns.splice(index + step, 0, taken);
    change({ columns });
  }
  return (
    <div class="section columns-form">
      <ul class="options">
        {shown.map((name, index) => (
          <li key={name} class="row">
            <label class="check">
              <input
                type="checkbox"
                checked
                disabled={shown.length === 1}
                onChange={() => change({ columns: shown.filter((other) => other !== name) })}
              />
              <bdi>{title(name)}</bdi>
            </label>
            <span class="space" />
            <Button
              class="plain square"
              isResting={index === 0}
              label={t("columns.up", { name: title(name) })}
              onClick={() => move(index, -1)}
            >
              <Icon name="arrow-up" />
            </Button>
            <button
              type="button"
              class="plain square"
              aria-pressed={index < view.pinned}
              aria-label={t("columns.pin", { name: title(name) })}
              onClick={() => change({ pinned: index < view.pinned ? index : index + 1 })}
            >
              <Icon name="pin" class={index < view.pinned ? "" : "muted"} />
            </button>
          </li>
        ))}
        {hidden.map((name) => (
          <li key={name}>
            <label class="check">
              <input type="checkbox" checked={false} onChange={() => change({ columns: [...shown, name] })} />
              <bdi>{title(name)}</bdi>
            </label>
          </li>
        ))}
      </ul>
      <label class="check">
        <input type="checkbox" checked={isDense.value} onChange={() => (isDense.value = !isDense.value)} />
        {t("dense")}
      </label>
      <button type="button" onClick={() => change({ columns: defaultColumns(entity), pinned: 1, widths: {} })}>
        {t("columns.reset")}
      </button>
    </div>
  );
}
