// What is done to selected rows together: change one field, delete, restore, delete for good.
import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { ApiError, call, isStopped } from "../api/api";
import { type Entity, type Field, isFile, type Row } from "../api/meta";
import { Input } from "../forms/inputs";
import { emptyOf, sentValue } from "../forms/values";
import { StoppableSubmit } from "../parts/Button";
import { ask, Dialog } from "../parts/Dialog";
import { Refusal } from "../parts/Fields";
import { Icon } from "../parts/Icon";
import { errorText, failed, toast } from "../parts/Toast";
import { useRunning, useUnsaved } from "../parts/unsaved";
import { t } from "../words/words";
import { titleOf } from "./cells";

interface Props {
  entity: Entity;
  selection: Selection;
  deleted: boolean;
  done: () => void;
}

/** What is done to the selected rows until it is done or stopped; it says how many are done as it goes on. */
type Work = (signal: AbortSignal, finish: (done: number) => void) => Promise<unknown>;

type Done = "delete.done" | "deleted.restored" | "deleted.purged";

export function Bulk({ entity, selection, deleted, done }: Props) {
  const [isEditing, setEditing] = useState(false);
  const [finished, setFinished] = useState(0);
  const [all, setAll] = useState(0);
  const { isBusy, begin, end, stop } = useRunning("bulk.leave.title", "bulk.leave");
  const rows = [...selection.ids.value.values()];
  const count = rows.length;
  if (isBusy) return <Running finished={finished} all={all} stop={stop} />;
  if (!count) return null;
  const path = `/api/${entity.plural}`;

  async function run(work: Work, text: Done): Promise<void> {
    const signal = begin();
    let last = 0;
    const finish = (rowsDone: number) => {
      last = rowsDone;
      setFinished(last);
    };
    finish(0);
    setAll(count);
    try {
      await work(signal, finish);
    } catch (error) {
      isStopped(error) ? toast(t("bulk.stopped")) : failed(error);
    }
    if (last) toast(t(text, { count: last }));
    end();
    // a request for all of them that was refused changed nothing
    if (!last && !signal.aborted) return;
    selection.clear();
    done();
  }

  const each =
    (work: (row: Row, signal: AbortSignal) => Promise<unknown>): Work =>
    async (signal, finish) => {
      for (const [index, row] of rows.entries()) {
        await work(row, signal);
        finish(index + 1);
      }
    };

  async function remove(): Promise<void> {
    const text = entity.has.softDelete ? t("delete.soft") : t("delete.hard");
    if (!(await ask(t("delete.title", { count }), text, t("delete")))) return;
    const json = { ids: rows.map((row) => row.id) };
    await run(async (signal, finish) => {
      await call("POST", `${path}/batch/delete`, { json, signal });
      finish(count);
    }, "delete.done");
  }

  async function purge(): Promise<void> {
    if (!(await ask(t("purge.title", { count }), t("purge.text"), t("purge")))) return;
    const query = { permanent: "true" };
    await run(
      each((row, signal) => call("DELETE", `${path}/${row.id}`, { query, signal })),
      "deleted.purged",
    );
  }

  const restore = () =>
    run(
      each((row, signal) => call("POST", `${path}/${row.id}/restore`, { signal })),
      "deleted.restored",
    );

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
        <button type="button" onClick={() => void restore()}>
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

interface RunningProps {
  finished: number;
  all: number;
  stop: () => void;
}

const Running = ({ finished, all, stop }: RunningProps) => (
  <div class="selected" role="region" aria-label={t("selected.region")}>
    <strong role="status">{t("bulk.busy", { finished, count: all })}</strong>
    <span class="space" />
    <button type="button" onClick={stop}>
      {t("cancel")}
    </button>
  </div>
);

interface EditProps {
  entity: Entity;
  rows: Row[];
  onClose: () => void;
  done: () => void;
}

function BulkEdit({ entity, rows, onClose, done }: EditProps) {
  const alone = new Set(entity.unique.filter((names) => names.length === 1).flat());
  const fields = entity.fields.filter((field) => field.writable && !isFile(field) && !alone.has(field.name));
  const [field, setField] = useState<Field | undefined>(fields[0]);
  const [value, setValue] = useState<unknown>(field ? emptyOf(field) : null);
  const [problem, setProblem] = useState("");
  const isChanged = field !== undefined && value !== emptyOf(field);
  const stored = useUnsaved(isChanged);
  const { isBusy, begin, end, stop } = useRunning("bulk.leave.title", "bulk.leave");
  async function save(event: Event): Promise<void> {
    event.preventDefault();
    if (!field || isBusy) return;
    const sent = sentValue(field, value);
    const isEmpty = sent === null || sent === "" || (Array.isArray(sent) && !sent.length);
    const [name, count] = [titleOf(field), rows.length];
    if (isEmpty && !(await ask(t("bulk.empty", { name, count }), t("bulk.empty.text"), t("bulk.save", { count }))))
      return;
    const signal = begin();
    setProblem("");
    const items = rows.map((row) => ({
      id: row.id,
      version: Number(row.version),
      [field.name]: sent,
    }));
    try {
      await call("PUT", `/api/${entity.plural}/batch`, { json: { items }, signal });
      toast(t("bulk.done", { count: rows.length }));
      stored();
      done();
    } catch (error) {
      // the same is wrong with each of the rows: it is told once, by the name of the field
      const fields = error instanceof ApiError ? error.fields : [];
      const reasons = new Set(
        fields.map(
          (wrong) => `${wrong.field.replace(/^items\[\d+\]\./, "").replace(field.name, name)}: ${wrong.message}`,
        ),
      );
      setProblem(isStopped(error) ? t("bulk.stopped") : [...reasons].slice(0, 3).join("; ") || errorText(error));
    }
    end();
  }
  if (!field) return null;
  return (
    <Dialog title={t("bulk.title", { count: rows.length })} onClose={onClose} isChanged={() => isChanged}>
      <form class="section" onSubmit={save} aria-busy={isBusy}>
        <Refusal text={problem} />
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
        <StoppableSubmit isBusy={isBusy} stop={stop}>
          {t("bulk.save", { count: rows.length })}
        </StoppableSubmit>
      </form>
    </Dialog>
  );
}

/** Selected rows, by id, with the versions that they had: at most as many as a batch takes. */
export class Selection {
  readonly ids = signal<ReadonlyMap<string, Row>>(new Map());

  constructor(readonly most: number) {}

  toggle(row: Row): void {
    const next = new Map(this.ids.peek());
    if (!next.delete(row.id) && next.size < this.most) next.set(row.id, row);
    this.ids.value = next;
  }

  toggleAll(rows: Row[]): void {
    this.ids.value = this.ids.peek().size ? new Map() : new Map(rows.slice(0, this.most).map((row) => [row.id, row]));
  }

  clear(): void {
    this.ids.value = new Map();
  }
}
