// What is done to selected rows together: change one field, delete, restore, delete for good.
import { useState } from "preact/hooks";
import { ApiError, call } from "../api/api";
import type { Entity, Field, Row } from "../api/meta";
import { Input } from "../forms/inputs";
import { emptyOf, sentValue } from "../forms/values";
import { ask, Dialog } from "../parts/Dialog";
import { Icon } from "../parts/Icon";
import { errorText, failed, toast } from "../parts/Toast";
import { useUnsaved } from "../parts/unsaved";
import { t } from "../words/words";
import { titleOf } from "./cells";
import type { Selection } from "./selection";

interface Props {
  entity: Entity;
  selection: Selection;
  deleted: boolean;
  done: () => void;
}

export function Bulk({ entity, selection, deleted, done }: Props) {
  const [isEditing, setEditing] = useState(false);
  const rows = [...selection.ids.value.values()];
  const count = rows.length;
  if (!count) return null;
  const path = `/api/${entity.plural}`;

  async function each(
    work: (row: Row) => Promise<unknown>,
    text: "deleted.restored" | "deleted.purged",
  ): Promise<void> {
    let finished = 0;
    try {
      for (const row of rows) {
        await work(row);
        finished += 1;
      }
    } catch (error) {
      failed(error);
    }
    if (finished) toast(t(text, { count: finished }));
    selection.clear();
    done();
  }

  async function remove(): Promise<void> {
    const text = entity.has.softDelete ? t("delete.soft") : t("delete.hard");
    if (!(await ask(t("delete.title", { count }), text, t("delete")))) return;
    try {
      await call("POST", `${path}/batch/delete`, { json: { ids: rows.map((row) => row.id) } });
      toast(t("delete.done", { count }));
      selection.clear();
      done();
    } catch (error) {
      failed(error);
    }
  }

  async function purge(): Promise<void> {
    if (!(await ask(t("purge.title", { count }), t("purge.text"), t("purge")))) return;
    await each((row) => call("DELETE", `${path}/${row.id}`, { query: { permanent: "true" } }), "deleted.purged");
  }

  return (
    <div class="selected" role="region" aria-label={t("selected.region")}>
      <strong>{t("selected", { count })}</strong>
      <span class="space" />
      {!deleted && entity.may.update && (
        <button type="button" onClick={() => setEditing(true)}>
          <Icon name="pencil" />
          {t("bulk.edit")}
        </button>
      )}
      {!deleted && entity.may.delete && (
        <button type="button" class="quiet-danger" onClick={() => void remove()}>
          <Icon name="trash-2" />
          {t("delete")}
        </button>
      )}
      {deleted && entity.may.delete && (
        <button
          type="button"
          onClick={() => void each((row) => call("POST", `${path}/${row.id}/restore`), "deleted.restored")}
        >
          <Icon name="undo-2" />
          {t("restore")}
        </button>
      )}
      {deleted && entity.may.purge && (
        <button type="button" class="quiet-danger" onClick={() => void purge()}>
          <Icon name="trash-2" />
          {t("purge")}
        </button>
      )}
      <button type="button" class="plain square" aria-label={t("selected.none")} onClick={() => selection.clear()}>
        <Icon name="x" />
      </button>
      {isEditing && (
        <BulkEdit
          entity={entity}
          rows={rows}
          onClose={() => setEditing(false)}
          done={() => {
            setEditing(false);
            selection.clear();
            done();
          }}
        />
      )}
    </div>
  );
}

interface EditProps {
  entity: Entity;
  rows: Row[];
  onClose: () => void;
  done: () => void;
}

function BulkEdit({ entity, rows, onClose, done }: EditProps) {
  const alone = new Set(entity.unique.filter((names) => names.length === 1).flat());
  const fields = entity.fields.filter((field) => field.writable && !alone.has(field.name));
  const [field, setField] = useState<Field | undefined>(fields[0]);
  const [value, setValue] = useState<unknown>(field ? emptyOf(field) : null);
  const [problem, setProblem] = useState("");
  const isChanged = field !== undefined && value !== emptyOf(field);
  useUnsaved(isChanged);
  async function save(event: Event): Promise<void> {
    event.preventDefault();
    if (!field) return;
    const items = rows.map((row) => ({
      id: row.id,
      version: Number(row.version),
      [field.name]: sentValue(field, value),
    }));
    try {
      await call("PUT", `/api/${entity.plural}/batch`, { json: { items } });
      toast(t("bulk.done", { count: rows.length }));
      done();
    } catch (error) {
      const fields = error instanceof ApiError ? error.fields.map((wrong) => `${wrong.field}: ${wrong.message}`) : [];
      setProblem(fields.slice(0, 3).join("; ") || errorText(error));
    }
  }
  if (!field) return null;
  return (
    <Dialog title={t("bulk.title", { count: rows.length })} onClose={onClose} isChanged={() => isChanged}>
      <form class="section" onSubmit={save}>
        {problem && (
          <p class="summary" role="alert">
            {problem}
          </p>
        )}
        <label class="field">
          <span>{t("field")}</span>
          <select
            value={field.name}
            onChange={(event) => {
              const chosen = fields.find((candidate) => candidate.name === event.currentTarget.value);
              setField(chosen);
              setValue(chosen ? emptyOf(chosen) : null);
            }}
          >
            {fields.map((candidate) => (
              <option key={candidate.name} value={candidate.name}>
                {titleOf(candidate)}
              </option>
            ))}
          </select>
        </label>
        <Input key={field.name} field={field} value={value} change={setValue} />
        <button type="submit" class="primary">
          {t("bulk.save", { count: rows.length })}
        </button>
      </form>
    </Dialog>
  );
}
