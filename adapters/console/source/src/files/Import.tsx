// Import of a file: its columns mapped, a dry run that names every wrong row, then the import itself.
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, call, isPassing, isStopped } from "../api/api";
import { type Entity, entityOf } from "../api/meta";
import { Once } from "../api/once";
import type { Imported } from "../api/types";
import { entityTitle, titleOf } from "../grid/cells";
import { Icon } from "../parts/Icon";
import { Forbidden } from "../parts/States";
import { Title } from "../parts/Title";
import { errorText } from "../parts/Toast";
import { useRunning } from "../parts/unsaved";
import { href } from "../session/routes";
import { fieldTexts } from "../words/answers";
import { t } from "../words/words";
import { type Head, headOf } from "./head";
import { FilePicker, Report } from "./report";

interface Options {
  mode: "create" | "upsert";
  key: string;
  atomic: boolean;
  /** Of the times in a workbook, which name none; empty for UTC. */
  timeZone: string;
}

export function ImportScreen({ plural }: { plural: string }) {
  const entity = entityOf(plural);
  if (!entity?.may.import) return <Forbidden />;
  return <Import entity={entity} />;
}

function Import({ entity }: { entity: Entity }) {
  const [file, setFile] = useState<File | null>(null);
  const [head, setHead] = useState<Head | null>(null);
  const [mapped, setMapped] = useState<Record<string, string>>({});
  const keys = entity.unique.filter((names) => names.length === 1).map(([name]) => name!);
  const [options, setOptions] = useState<Options>({ mode: "create", key: keys[0] ?? "", atomic: false, timeZone: "" });
  const [outcome, setOutcome] = useState<{ result: Imported; isDry: boolean } | null>(null);
  const [problem, setProblem] = useState("");
  const once = useRef(new Once());
  const { isBusy, begin, end, stop } = useRunning("import.leave.title", "import.leave");
  const looked = useRef<File | null>(null);

  useEffect(() => {
    setHead(null);
    setOutcome(null);
    setProblem("");
    if (file) void look(file);
  }, [file]);
  useEffect(() => setOutcome(null), [mapped, options]);

  async function look(at: File, sheet?: string): Promise<void> {
    looked.current = at;
    const read = await headOf(at, sheet);
    if (looked.current !== at) return; // another file was chosen meanwhile
    setHead(read);
    setMapped(read ? guessed(entity, read.names) : {});
  }

  async function run(isDry: boolean): Promise<void> {
    if (!file || isBusy) return;
    const signal = begin();
    setProblem("");
    try {
      const form = new FormData();
      form.set("file", file);
      const how = JSON.stringify(sentOptions(options, head, mapped, isDry));
      form.set("options", how);
      const headers = isDry ? {} : once.current.headers(`${file.name} ${file.size} ${file.lastModified} ${how}`);
      const { data } = await call<Imported>("POST", `/api/${entity.plural}/import`, { form, headers, signal });
      once.current.answered();
      setOutcome({ result: { ...data, errors: fieldTexts(data.errors) }, isDry });
    } catch (error) {
      if (isStopped(error)) setProblem(isDry ? "" : t("import.stopped"));
      else told(error);
    }
    end();
  }

  function told(error: unknown): void {
    if (!isPassing(error)) once.current.answered();
    const fields = error instanceof ApiError ? error.fields : [];
    if (fields.some((wrong) => wrong.row)) setOutcome({ result: ofFields(fields), isDry: true });
    const ofFile = fields.filter((wrong) => !wrong.row).map(({ field, message }) => `${field}: ${message}`);
    setProblem([errorText(error), ofFile.join("; ")].filter(Boolean).join(" "));
  }

  return (
    <>
      <a class="crumb row" href={href("rows", entity.plural)}>
        <Icon name="arrow-left" />
        <bdi>{entityTitle(entity)}</bdi>
      </a>
      <div class="head">
        <Title name={t("import")}>{t("import.title", { name: entityTitle(entity) })}</Title>
      </div>
      <FilePicker file={file} choose={setFile} isFixed={isBusy} />
      {file && (
        <>
          {/* what is checked is what the import then does: nothing of it is changed meanwhile */}
          <fieldset class="whole" disabled={isBusy}>
            {head?.sheets && head.sheets.length > 1 && (
              <label class="field pick">
                <span>{t("import.sheet")}</span>
                <select value={head.sheet} onChange={(event) => void look(file, event.currentTarget.value)}>
                  {head.sheets.map((name) => (
                    <option key={name}>{name}</option>
                  ))}
                </select>
              </label>
            )}
            {head ? (
              <Mapping entity={entity} head={head} mapped={mapped} change={setMapped} />
            ) : (
              <p class="muted">
                {t("import.names", {
                  names: writable(entity)
                    .map((field) => field.name)
                    .join(", "),
                })}
              </p>
            )}
            {head?.sheets && writable(entity).some((field) => field.kind === "timestamp") && (
              <TimeZone zone={options.timeZone} change={(timeZone) => setOptions({ ...options, timeZone })} />
            )}
            <ImportOptions keys={keys} options={options} change={setOptions} />
            {problem && (
              <p class="summary" role="alert">
                {problem}
              </p>
            )}
            <div class="row">
              <button type="button" disabled={isBusy} class={outcome ? "" : "primary"} onClick={() => void run(true)}>
                <Icon name="eye" />
                {t("import.dry")}
              </button>
              <button
                type="button"
                class={outcome?.isDry ? "primary" : ""}
                disabled={isBusy || !outcome?.isDry || outcome.result.imported === 0}
                onClick={() => void run(false)}
              >
                <Icon name="upload" />
                {outcome?.isDry ? t("import.run", { count: outcome.result.imported }) : t("import")}
              </button>
            </div>
            {outcome && <Report entity={entity} {...outcome} name={file.name} />}
          </fieldset>
          {isBusy && <Running stop={stop} />}
        </>
      )}
    </>
  );
}

/** Outside of what rests meanwhile, and in sight wherever the page is scrolled to. */
const Running = ({ stop }: { stop: () => void }) => (
  <div class="saving">
    <span role="status">{t("import.busy")}</span>
    <button type="button" onClick={stop}>
      {t("cancel")}
    </button>
  </div>
);

/** What stands for a column that is left out; no field has such a name. */
const LEFT_OUT = "-";

const writable = (entity: Entity) => entity.fields.filter((field) => field.writable);
const plain = (text: string) => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");

/** Columns that are called like a field, by its name or its title, in any spelling. */
function guessed(entity: Entity, names: string[]): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of names) {
    const field = entity.fields.find((candidate) =>
      [candidate.name, titleOf(candidate)].some((own) => plain(own) === plain(name)),
    );
    found[name] = field?.name ?? "";
  }
  return found;
}

function sentOptions(options: Options, head: Head | null, mapped: Record<string, string>, dryRun: boolean) {
  const renamed = Object.entries(mapped)
    .filter(([name, field]) => field && field !== name)
    .map(([name, field]) => [name, field === LEFT_OUT ? null : field]);
  return {
    mode: options.mode,
    ...(options.mode === "upsert" && options.key ? { key: options.key } : {}),
    ...(options.atomic ? { atomic: true } : {}),
    ...(renamed.length ? { columns: Object.fromEntries(renamed) } : {}),
    ...(head?.delimiter ? { delimiter: head.delimiter } : {}),
    ...(head?.sheet ? { sheet: head.sheet } : {}),
    ...(head?.sheets && options.timeZone ? { timeZone: options.timeZone } : {}),
    dryRun,
  };
}

/** An atomic import answers 400 with the errors of its rows. */
function ofFields(fields: { field: string; message: string; row?: number }[]): Imported {
  const errors = fields
    .filter((wrong) => wrong.row)
    .map((wrong) => ({ row: wrong.row!, message: `${wrong.field}: ${wrong.message}`, details: [wrong] }));
  return { imported: 0, skipped: errors.length, errors };
}

interface MappingProps {
  entity: Entity;
  head: Head;
  mapped: Record<string, string>;
  change: (mapped: Record<string, string>) => void;
}

function Mapping({ entity, head, mapped, change }: MappingProps) {
  const unmapped = writable(entity).filter((field) => field.required && !Object.values(mapped).includes(field.name));
  return (
    <section class="section import-mapping">
      <h2>{t("import.columns")}</h2>
      <div class="table-box">
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">{t("import.column")}</th>
              {head.rows.length > 0 && <th scope="col">{t(head.isRange ? "import.range" : "import.sample")}</th>}
              <th scope="col">{t("field")}</th>
            </tr>
          </thead>
          <tbody>
            {head.names.map((name, index) => (
              <tr key={name}>
                <th scope="row">
                  <bdi>{name}</bdi>
                </th>
                {head.rows.length > 0 && (
                  <td class="muted">
                    <bdi>
                      {head.rows
                        .map((row) => row[index])
                        .filter(Boolean)
                        .slice(0, 2)
                        .join(" · ")
                        .slice(0, 60)}
                    </bdi>
                  </td>
                )}
                <td>
                  <select
                    aria-label={t("import.field", { name })}
                    value={mapped[name] ?? ""}
                    onChange={(event) => change({ ...mapped, [name]: event.currentTarget.value })}
                  >
                    <option value="">{t("import.unknown")}</option>
                    <option value={LEFT_OUT}>{t("import.left-out")}</option>
                    {entity.fields.map((field) => (
                      <option key={field.name} value={field.name}>
                        {titleOf(field)}
                      </option>
                    ))}
                  </select>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {unmapped.length > 0 && (
        <p class="badge warn">{t("import.lacks", { names: unmapped.map(titleOf).join(", ") })}</p>
      )}
    </section>
  );
}

function TimeZone({ zone, change }: { zone: string; change: (zone: string) => void }) {
  return (
    <label class="field pick">
      <span>{t("tenant.timezone")}</span>
      <input
        list="time-zones"
        placeholder="UTC"
        value={zone}
        onInput={(event) => change(event.currentTarget.value.trim())}
      />
      <datalist id="time-zones">
        {Intl.supportedValuesOf("timeZone").map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </label>
  );
}

function ImportOptions({
  keys,
  options,
  change,
}: {
  keys: string[];
  options: Options;
  change: (options: Options) => void;
}) {
  return (
    <fieldset class="radios">
      <legend>{t("import.mode")}</legend>
      {(["create", "upsert"] as const).map((mode) => (
        <label class="check" key={mode}>
          <input
            type="radio"
            name="mode"
            checked={options.mode === mode}
            disabled={mode === "upsert" && !keys.length}
            onChange={() => change({ ...options, mode })}
          />
          {t(mode === "create" ? "import.create" : "import.upsert")}
        </label>
      ))}
      {options.mode === "upsert" && (
        <label class="field">
          <span>{t("import.key")}</span>
          <select value={options.key} onChange={(event) => change({ ...options, key: event.currentTarget.value })}>
            {keys.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
      )}
      <label class="check">
        <input
          type="checkbox"
          checked={options.atomic}
          onChange={() => change({ ...options, atomic: !options.atomic })}
        />
        {t("import.atomic")}
      </label>
    </fieldset>
  );
}
