// Saved views of an entity: a name and a query, kept in this browser; the address of the page shares one.
import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { readable } from "../api/api";
import type { Entity } from "../api/meta";
import { Submit } from "../parts/Button";
import { Icon } from "../parts/Icon";
import { Menu } from "../parts/Menu";
import { toast } from "../parts/Toast";
import { go, href } from "../session/routes";
import { tenantId } from "../session/tokens";
import { t } from "../words/words";
import { pageQuery, type View } from "./view";

interface Saved {
  name: string;
  query: string;
}

const keyOf = (entity: Entity) => `tenantry.views.${tenantId.value}.${entity.plural}`;
const changed = signal(0);

function saved(entity: Entity): Saved[] {
  changed.value;
  try {
    const kept = JSON.parse(localStorage.getItem(keyOf(entity)) ?? "[]");
    return Array.isArray(kept) ? kept : [];
  } catch {
    return [];
  }
}

function store(entity: Entity, views: Saved[]): void {
  localStorage.setItem(keyOf(entity), JSON.stringify(views));
  changed.value += 1;
}

export function ViewsMenu({ entity, view }: { entity: Entity; view: View }) {
  const query = readable(pageQuery(entity, view));
  return (
    <Menu label={t("views")} icon="star" hideText hasMarker={saved(entity).some((kept) => kept.query === query)}>
      {(close) => <Views entity={entity} query={query} close={close} />}
    </Menu>
  );
}

function Views({ entity, query, close }: { entity: Entity; query: string; close: () => void }) {
  const [name, setName] = useState("");
  const views = saved(entity);
  function save(event: Event): void {
    event.preventDefault();
    if (!name.trim()) return;
    store(entity, [...views.filter((kept) => kept.name !== name.trim()), { name: name.trim(), query }]);
    close();
    toast(t("views.saved"));
  }
  return (
    <div class="section">
      {views.length > 0 && (
        <ul class="options">
          {views.map((kept) => (
            <li key={kept.name} class="beside">
              <button type="button" onClick={() => (close(), void go(`${href("rows", entity.plural)}?${kept.query}`))}>
                <bdi>{kept.name}</bdi>
              </button>
              <button
                type="button"
                class="plain square"
                aria-label={t("views.remove", { name: kept.name })}
                onClick={() =>
                  store(
                    entity,
                    views.filter((other) => other.name !== kept.name),
                  )
                }
              >
                <Icon name="x" />
              </button>
            </li>
          ))}
        </ul>
      )}
      <form class="beside" onSubmit={save}>
        <input
          aria-label={t("views.name")}
          placeholder={t("views.name")}
          maxLength={60}
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
        />
        <Submit class="" isResting={!name.trim()}>
          {t("save")}
        </Submit>
      </form>
      <button
        type="button"
        onClick={() => {
          close();
          void copy(location.origin + href("rows", entity.plural) + (query && `?${query}`));
        }}
      >
        <Icon name="copy" />
        {t("views.link")}
      </button>
    </div>
  );
}

export async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toast(t("copied"));
  } catch {
    toast(t("copied.not"), true);
  }
}
