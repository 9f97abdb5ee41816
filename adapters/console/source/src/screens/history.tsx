// What happened to a row: who, when, from what to what; and back to what it was.

import { useState } from "preact/hooks";
import { call } from "../api/api";
import type { Entity, Field, Row } from "../api/meta";
import type { HistoryEntry } from "../api/types";
import { heldValue, sentValue } from "../forms/values";
import { titleOf, Value } from "../grid/cells";
import { ask } from "../parts/Dialog";
import { Icon } from "../parts/Icon";
import { type Loaded, Notice, Ready, useLoaded } from "../parts/States";
import { failed, toast } from "../parts/Toast";
import { ago, exactTime, type Key, t } from "../words/words";
import { PersonName } from "./names";

interface Page {
  items: HistoryEntry[];
  hasNextPage: boolean;
}

interface Props {
  entity: Entity;
  row: Row;
  etag: string | null;
  reverted: () => Promise<void>;
}

const SIZE = 20;

/** Entries of both lists, each version once. */
function joined(items: HistoryEntry[], others: HistoryEntry[]): HistoryEntry[] {
  const known = new Set(items.map(({ version }) => version));
  return [...items, ...others.filter(({ version }) => !known.has(version))];
}

export function History({ entity, row, etag, reverted }: Props) {
  const path = `/api/${entity.plural}/${row.id}`;
  const [older, setOlder] = useState<{ items: HistoryEntry[]; page: number; hasNextPage: boolean } | null>(null);
  const loaded: Loaded<Page> = useLoaded<Page>(
    async () => {
      const query = { page: "1", pageSize: String(SIZE) };
      const { data } = await call<Page>("GET", `${path}/history`, { query, exact: true });
      const before = loaded.data?.items ?? [];
      // what was read before stays, below the versions that are new
      return before.length ? { ...data, items: joined(data.items, before) } : data;
    },
    [path, row.version],
    true,
  );

  async function more(): Promise<void> {
    const page = (older?.page ?? 1) + 1;
    try {
      const query = { page: String(page), pageSize: String(SIZE) };
      const { data } = await call<Page>("GET", `${path}/history`, { query, exact: true });
      setOlder({ items: [...(older?.items ?? []), ...data.items], page, hasNextPage: data.hasNextPage });
    } catch (error) {
      failed(error);
    }
  }

  async function revert(entry: HistoryEntry): Promise<void> {
    const writable = new Set(entity.fields.filter((field) => field.writable).map((field) => field.name));
    const before = entry.changes.filter((change) => writable.has(change.field));
    const names = before.map((change) => change.field).join(", ");
    if (!(await ask(t("history.revert"), t("history.revert.text", { names }), t("history.revert"), false))) return;
    try {
      const fields = new Map(entity.fields.map((field) => [field.name, field]));
      const json = Object.fromEntries(before.map(({ field, from }) => [field, sentAgain(fields.get(field), from)]));
      await call("PUT", path, { json, headers: etag ? { "If-Match": etag } : {} });
      toast(t("history.reverted"));
      await reverted();
    } catch (error) {
      failed(error);
    }
  }

  return (
    <Ready loaded={loaded}>
      {(page) => {
        const entries = joined(page.items, older?.items ?? []);
        const hasMore = older ? older.hasNextPage : page.hasNextPage;
        if (!entries.length) return <Notice icon="history" title={t("history.none")} />;
        return (
          <>
            <ol class="timeline">
              {entries.map((entry) => (
                <EntryItem
                  key={entry.version}
                  entity={entity}
                  entry={entry}
                  revert={entity.may.update && !row.isDeleted && entry.action === "changed" ? revert : undefined}
                />
              ))}
            </ol>
            {hasMore && (
              <p>
                <button type="button" onClick={() => void more()}>
                  {t("history.older")}
                </button>
              </p>
            )}
          </>
        );
      }}
    </Ready>
  );
}

interface EntryProps {
  entity: Entity;
  entry: HistoryEntry;
  revert?: (entry: HistoryEntry) => Promise<void>;
}

/** The icon of an action: its colour is not what tells it from others. */
const MARKS: Record<string, string> = {
  created: "plus",
  changed: "pencil",
  deleted: "trash-2",
  restored: "undo-2",
  purged: "trash-2",
};

function EntryItem({ entity, entry, revert }: EntryProps) {
  return (
    <li>
      <span class="mark">
        <Icon name={MARKS[entry.action] ?? "pencil"} />
      </span>
      <div class="row">
        <strong>{t(`history.${entry.action}` as Key)}</strong>
        <PersonName id={entry.by} />
        <time class="muted" dateTime={entry.at} title={exactTime(entry.at)}>
          {ago(entry.at)}
        </time>
        <span class="muted small">{t("history.version", { version: entry.version })}</span>
      </div>
      {entry.action === "changed" && !entry.changes.length && <p class="muted small">{t("history.unseen")}</p>}
      {entry.changes.length > 0 && (
        <dl class="facts small">
          {entry.changes.map((change) => {
            const field = entity.fields.find((candidate) => candidate.name === change.field);
            return (
              <>
                <dt>
                  <bdi>{field ? titleOf(field) : change.field}</bdi>
                </dt>
                <dd>
                  {change.from !== null && (
                    <>
                      <span class="unseen">{t("history.was")}</span>
                      <del>
                        <Value field={field} value={change.from} isWhole />
                      </del>
                      <Icon name="arrow-right" class="muted" />
                      <span class="unseen">{t("history.now")}</span>
                    </>
                  )}
                  <ins>
                    {change.to === null ? t("history.empty") : <Value field={field} value={change.to} isWhole />}
                  </ins>
                </dd>
              </>
            );
          })}
        </dl>
      )}
      {revert && entry.changes.length > 0 && (
        <button type="button" class="plain" onClick={() => void revert(entry)}>
          <Icon name="undo-2" />
          {t("history.revert")}
        </button>
      )}
    </li>
  );
}

/** A value of the history as a body has it: exact numbers were read as texts. */
function sentAgain(field: Field | undefined, value: unknown): unknown {
  const isNumber = field && ["integer", "bigInteger", "float"].includes(field.kind);
  return isNumber && value !== null ? sentValue(field, heldValue(field, value)) : value;
}
