// The form of a row, made from the metadata: every error at its field, and only what changed is sent.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ApiError, call, isPassing, Once } from "../api/api";
import type { Entity, Row } from "../api/meta";
import { uploading } from "../api/uploads";
import { titleOf } from "../grid/cells";
import { Submit } from "../parts/Button";
import { Refusal } from "../parts/Fields";
import { errorText, toast } from "../parts/Toast";
import { useUnsaved } from "../parts/unsaved";
import { t } from "../words/words";
import { Conflict } from "./conflict";
import { Input } from "./inputs";
import { changesOf, type Draft, draftOf, formFields } from "./values";

interface Props {
  entity: Entity;
  row: Row | null;
  etag: string | null;
  preset?: Record<string, unknown>;
  saved: (row: Row, etag: string | null) => void;
}

type Problems = Record<string, string>;

export function Form({ entity, row, etag, preset, saved }: Props) {
  const fields = useMemo(() => formFields(entity), [entity]);
  const start = useMemo(() => draftOf(fields, row), [fields, row]);
  const [draft, setDraft] = useState<Draft>({ ...start, ...preset });
  const [problems, setProblems] = useState<Problems>({});
  const [summary, setSummary] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [theirs, setTheirs] = useState<{ row: Row; etag: string | null } | null>(null);
  const sent = useRef<Draft | null>(null);
  const once = useRef(new Once());
  const changes = changesOf(fields, start, draft);
  const isDirty = Object.keys(changes).length > 0;
  const isResting = isBusy || uploading.value > 0;
  const mayWrite = row ? entity.may.update && !row.isDeleted : entity.may.create;

  const shown = useRef(start);
  useEffect(() => {
    // effects come after the first look, and somebody may type before them
    if (shown.current === start) return;
    shown.current = start;
    // what was typed while the form was saved is kept
    const before = sent.current;
    sent.current = null;
    const isKept = ([name, value]: [string, unknown]) => before !== null && value !== before[name];
    setDraft((now) => ({ ...start, ...preset, ...Object.fromEntries(Object.entries(now).filter(isKept)) }));
  }, [start]);
  useUnsaved(isDirty && mayWrite);

  async function write(body: Record<string, unknown>, version: string | null): Promise<void> {
    setBusy(true);
    setProblems({});
    setSummary("");
    sent.current = draft;
    try {
      const path = `/api/${entity.plural}`;
      const reply = row
        ? await call<Row>("PATCH", `${path}/${row.id}`, {
            json: body,
            headers: version ? { "If-Match": version } : {},
            exact: true,
          })
        : await call<Row>("POST", path, {
            json: body,
            headers: once.current.headers(JSON.stringify(body)),
            exact: true,
          });
      once.current.answered();
      setTheirs(null);
      toast(t(row ? "row.saved" : "row.created"));
      saved(reply.data, reply.etag);
    } catch (error) {
      sent.current = null;
      if (!isPassing(error)) once.current.answered();
      await refused(error);
    } finally {
      setBusy(false);
    }
  }

  async function refused(error: unknown): Promise<void> {
    // what was chosen between two values is refused in the form, or chosen anew
    setTheirs(null);
    if (error instanceof ApiError && error.status === 412 && row) {
      try {
        const now = await call<Row>("GET", `/api/${entity.plural}/${row.id}`, { exact: true });
        setTheirs({ row: now.data, etag: now.etag });
      } catch (problem) {
        setSummary(isGone(problem) ? t("row.gone") : errorText(problem));
      }
      return;
    }
    const known = new Map(fields.map((field) => [field.name, field]));
    const wrong = error instanceof ApiError ? error.fields : [];
    // who takes a value away is told what a new row is told, and not which kind of nothing was sent
    const isLacking = (name: string) => draft[name] === "" && known.get(name)?.nullable === false;
    const found: Problems = {};
    for (const { field, message: told } of wrong) {
      const message = isLacking(field) ? t("field.needed") : told;
      if (known.has(field)) found[field] = [found[field], message].filter(Boolean).join("; ");
    }
    setProblems(found);
    const elsewhere = wrong
      .filter(({ field }) => !known.has(field))
      .map(({ field, message }) => `${field}: ${message}`);
    const whole = row && isGone(error) ? t("row.gone") : errorText(error);
    const text = wrong.length ? t("form.wrong", { count: wrong.length }) : whole;
    setSummary([text, ...elsewhere].join(" "));
  }

  function submit(event: Event): void {
    event.preventDefault();
    if (isResting) return;
    const required = fields.filter((field) => field.required && draft[field.name] !== "").map((field) => field.name);
    const body = row ? changes : { ...changes, ...pick(changesOf(fields, {}, draft), required) };
    void write(body, etag);
  }

  return (
    <>
      <form onSubmit={submit} noValidate aria-busy={isBusy} class="section grow">
        <Refusal text={summary} />
        <div class="form">
          {fields.map((field) => (
            <Input
              key={field.name}
              of={{ entity, row }}
              field={field}
              value={draft[field.name]}
              problem={problems[field.name]}
              disabled={!mayWrite}
              change={(value) => setDraft((before) => ({ ...before, [field.name]: value }))}
            />
          ))}
          {fields.length === 0 && <p class="muted">{t("form.none")}</p>}
        </div>
        {mayWrite && (
          <div class="saving">
            <Submit isResting={isResting || (!!row && !isDirty)}>{t(row ? "save" : "row.create")}</Submit>
            {isDirty && row && (
              <button type="button" onClick={() => (setDraft(start), setProblems({}), setSummary(""))}>
                {t("form.reset")}
              </button>
            )}
            {isDirty && row && (
              <span class="muted small" role="status">
                {t("form.changed", { names: changedNames(entity, changes) })}
              </span>
            )}
          </div>
        )}
      </form>
      {/* outside of the form: Enter in the dialog must not send the form */}
      {theirs && row && (
        <Conflict
          entity={entity}
          before={row}
          theirs={theirs.row}
          mine={changes}
          onClose={() => setTheirs(null)}
          keep={(body) =>
            Object.keys(body).length ? void write(body, theirs.etag) : (setTheirs(null), saved(theirs.row, theirs.etag))
          }
        />
      )}
    </>
  );
}

const isGone = (error: unknown) => error instanceof ApiError && error.status === 404;

const pick = (all: Record<string, unknown>, names: string[]) =>
  Object.fromEntries(names.map((name) => [name, all[name]]));

function changedNames(entity: Entity, changes: Record<string, unknown>): string {
  const titles = entity.fields.filter((field) => field.name in changes).map(titleOf);
  return titles.slice(0, 4).join(", ") + (titles.length > 4 ? ", …" : "");
}
