// An open row that others change: read again while nothing is typed, else a warning before one saves.
import { useEffect, useRef, useState } from "preact/hooks";
import { type Change, follow, whenOpen } from "../api/feed";
import type { Entity, Row } from "../api/meta";
import { titleOf } from "../grid/cells";
import { Icon } from "../parts/Icon";
import { type Loaded, useLoaded } from "../parts/States";
import { say } from "../parts/Toast";
import { unsaved } from "../session/routes";
import { t } from "../words/words";
import { personName } from "./names";

interface Read {
  row: Row;
  etag: string | null;
}

const GONE = new Set<Change["action"]>(["deleted", "purged", "left"]);

/** Reads a row, and follows it; `theirs` is a change of somebody else that is not shown. */
export function useLiveRow(
  entity: Entity,
  id: string,
  read: () => Promise<Read>,
): { loaded: Loaded<Read>; theirs: Change | null } {
  const [last, setLast] = useState<Change | null>(null);
  const version = useRef(0);
  async function again(): Promise<void> {
    if (unsaved.size) return;
    const found = await read().catch(() => null);
    // somebody may have typed in the meantime
    if (found && !unsaved.size) loaded.set(found);
  }
  // before the row is asked for, so that no change is missed
  useEffect(
    () =>
      follow(entity, {
        arrived: (changes) => {
          const change = changes.findLast((candidate) => candidate.id === id);
          // what this tab saved is shown already
          if (!change || (!GONE.has(change.action) && change.version <= version.current)) return;
          setLast(change);
          void again();
        },
        missed: () => void again(),
      }),
    [entity, id],
  );
  const loaded = useLoaded<Read>(async () => {
    await whenOpen(entity);
    return read();
  }, [entity, id]);
  const row = loaded.data?.row;
  version.current = Number(row?.version ?? 0);
  if (!row || !last) return { loaded, theirs: null };
  const isUnseen = GONE.has(last.action) ? row.isDeleted !== true : last.version > Number(row.version);
  return { loaded, theirs: isUnseen ? last : null };
}

export function Theirs({ entity, change }: { entity: Entity; change: Change | null }) {
  const name = change?.by ? (personName(change.by) ?? t("live.somebody")) : t("live.somebody");
  const fields = entity.fields.filter((field) => change?.changed.includes(field.name)).map(titleOf);
  const isGone = !!change && GONE.has(change.action);
  const text = change && t(isGone ? "live.gone" : "live.theirs", { name, fields: fields.join(", ") });
  useEffect(() => {
    if (text) say(text);
  }, [text]);
  return text ? (
    <div class={isGone ? "bar bad" : "bar warn"}>
      <Icon name="triangle-alert" />
      <span>{text}</span>
    </div>
  ) : null;
}
