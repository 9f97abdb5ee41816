// Import of a file: a dry run shows its columns and every wrong row, then the import itself.
import { useRef, useState } from "preact/hooks";
import { ApiError, call, isPassing, isStopped, Once } from "../api/api";
import { type Entity, entityOf } from "../api/meta";
import type { FileHeader, Imported } from "../api/types";
import { entityTitle } from "../grid/cells";
import { Icon } from "../parts/Icon";
import { Forbidden } from "../parts/States";
import { Title } from "../parts/Title";
import { errorText, reasonText } from "../parts/Toast";
import { useRunning } from "../parts/unsaved";
import { href } from "../session/routes";
import { fieldTexts } from "../words/answers";
import { t } from "../words/words";
import { FilePicker, LEFT_OUT, type Mapped, Mapping, writable } from "./importParts";
import { suggestedFields } from "./matching";
import { Report } from "./Report";
import { type Reading, ReadingOptions, suggestedReading } from "./reading";

interface Options {
  mode: "create" | "upsert";
  key: string;
  atomic: boolean;
  /** Of the times in a workbook, which name none; empty for UTC. */
  timeZone: string;
  reading: Reading;
}

export function ImportScreen({ plural }: { plural: string }) {
  const entity = entityOf(plural);
  if (!entity?.may.import) return <Forbidden />;
  return <Import entity={entity} />;
}

function Import({ entity }: { entity: Entity }) {
  const [file, setFile] = useState<File | null>(null);
  const [header, setHeader] = useState<FileHeader | null>(null);
  const [mapped, setMapped] = useState<Mapped>({});
  const [suggested, setSuggested] = useState<Mapped>({});
  const keys = entity.unique.filter((names) => names.length === 1).map(([name]) => name!);
  const [options, setOptions] = useState<Options>({
    mode: "create",
    key: keys[0] ?? "",
    atomic: false,
    timeZone: "",
    reading: {},
  });
  const [outcome, setOutcome] = useState<{ result: Imported; isDry: boolean } | null>(null);
  const [problem, setProblem] = useState("");
  const once = useRef(new Once());
  const { isBusy, begin, end, stop } = useRunning("import.leave.title", "import.leave");

  function choose(chosen: File): void {
    const kept = { ...options, timeZone: "", reading: {} };
    setFile(chosen);
    setHeader(null);
    setMapped({});
    setOptions(kept);
    void look(chosen, kept);
  }

  /** Reads the columns, again with what the service suggests for such a file and with the fields that the console
   * suggests: each once, and both together where that is possible, because the service limits the number of checks. */
  async function look(chosen: File, asked: Options): Promise<void> {
    if (isBusy) return;
    const signal = begin();
    let how = asked;
    let fields: Mapped | null = null;
    for (;;) {
      const found = await ask(chosen, sentOptions(how, null, fields ?? {}), signal, fields === null);
      if (!found) break;
      const reading: Reading = { ...how.reading, ...suggestedReading(found.suggested) };
      const isRead = Object.keys(reading).length === Object.keys(how.reading).length;
      const similar: Mapped = fields || !areNamesRead(found, how.reading) ? {} : suggestedFields(entity, found);
      if (Object.keys(similar).length) fields = { ...foundBy(found), ...similar };
      else if (isRead) break;
      how = { ...how, reading };
      setOptions(how);
    }
    end();
  }

  /** What was checked is what is imported: after a change there is no check any more. */
  function change(how: { mapped?: Mapped; options?: Options }): void {
    if (how.mapped) setMapped(how.mapped);
    if (how.options) setOptions(how.options);
    setOutcome(null);
  }

  /** Checks the rows, or imports them. */
  async function run(from: File, sent: Sent, { isDry = false, isNew = false }): Promise<void> {
    if (isBusy) return;
    await ask(from, sent, begin(), isNew, isDry);
    end();
  }

  /** `isNew` says that the file or its sheet is looked at for the first time, so that its columns are not mapped. */
  async function ask(from: File, sent: Sent, signal: AbortSignal, isNew: boolean, isDry = true) {
    let found: FileHeader | null = null;
    setProblem("");
    if (isNew) setOutcome(null);
    try {
      const form = new FormData();
      form.set("file", from);
      // a check lists the rows with errors; the import itself may then be of all rows or none
      const how = JSON.stringify({ ...sent, atomic: sent.atomic && !isDry, dryRun: isDry });
      form.set("options", how);
      const headers = isDry ? {} : once.current.headers(`${from.name} ${from.size} ${from.lastModified} ${how}`);
      const { data } = await call<Imported>("POST", `/api/${entity.plural}/import`, { form, headers, signal });
      once.current.answered();
      found = data.header ?? null;
      told(data, sent.atomic, { isDry, isNew });
    } catch (error) {
      if (isStopped(error)) setProblem(isDry ? "" : t("import.stopped"));
      else failed(error);
    }
    return found;
  }

  function told(data: Imported, isAtomic: boolean, { isDry = false, isNew = false }): void {
    const wrong = data.errors.find((error) => error.row === data.header?.row);
    let chosen = mapped;
    if (data.header) {
      setHeader(data.header);
      if (isNew) {
        const similar = suggestedFields(entity, data.header);
        chosen = { ...foundBy(data.header), ...similar };
        setMapped(chosen);
        setSuggested(similar);
      }
    }
    if (wrong) {
      // columns with a guess are asked about by the next check
      const details = wrong.details.filter(({ field }) => !isNew || !chosen[field]);
      setProblem(details.length || !isNew ? fieldTexts([{ ...wrong, details }])[0]!.message : "");
      setOutcome(null);
      return;
    }
    const imported = isDry && isAtomic && data.errors.length ? 0 : data.imported;
    setOutcome({ result: { ...data, imported, errors: fieldTexts(data.errors) }, isDry });
  }

  function failed(error: unknown): void {
    if (!isPassing(error)) once.current.answered();
    const isOfRows = error instanceof ApiError && error.fields.some((wrong) => wrong.row);
    setProblem(isOfRows ? errorText(error) : reasonText(error));
  }

  const isAsked = Object.keys(options.reading).length > 0 || !!header?.suggested.dateFormats.length;
  return (
    <>
      <a class="crumb row" href={href("rows", entity.plural)}>
        <Icon name="arrow-left" />
        <bdi>{entityTitle(entity)}</bdi>
      </a>
      <div class="head">
        <Title name={t("import")}>{t("import.title", { name: entityTitle(entity) })}</Title>
      </div>
      <FilePicker file={file} choose={choose} isFixed={isBusy} />
      {file && (
        <>
          {/* what is checked is what the import then does: nothing of it is changed meanwhile */}
          <fieldset class="whole" disabled={isBusy}>
            {header && header.sheets.length > 1 && (
              <label class="field pick">
                <span>{t("import.sheet")}</span>
                <select
                  value={header.sheet ?? ""}
                  onChange={(event) => {
                    const sheet = event.currentTarget.value;
                    void run(file, sentOptions(options, { ...header, sheet }, {}), { isDry: true, isNew: true });
                  }}
                >
                  {header.sheets.map((name) => (
                    <option key={name}>{name}</option>
                  ))}
                </select>
              </label>
            )}
            {(isAsked || (!header && problem)) && (
              <ReadingOptions
                reading={options.reading}
                suggested={header?.suggested}
                change={(reading, isNew) => {
                  const next = { ...options, reading };
                  change({ options: next });
                  if (isNew) void look(file, next);
                }}
              />
            )}
            {header ? (
              <Mapping
                entity={entity}
                header={header}
                mapped={mapped}
                suggested={suggested}
                change={(next) => change({ mapped: next })}
              />
            ) : (
              <p class="muted">
                {t("import.names", {
                  names: writable(entity)
                    .map((field) => field.name)
                    .join(", "),
                })}
              </p>
            )}
            {header?.sheet && writable(entity).some((field) => field.kind === "timestamp") && (
              <TimeZone zone={options.timeZone} change={(timeZone) => change({ options: { ...options, timeZone } })} />
            )}
            <ImportOptions keys={keys} options={options} change={(next) => change({ options: next })} />
            {problem && (
              <p class="summary" role="alert">
                {problem}
              </p>
            )}
            <div class="row">
              <button
                type="button"
                disabled={isBusy}
                class={outcome ? "" : "primary"}
                onClick={() =>
                  void (header ? run(file, sentOptions(options, header, mapped), { isDry: true }) : look(file, options))
                }
              >
                <Icon name="eye" />
                {t("import.dry")}
              </button>
              <button
                type="button"
                class={outcome?.isDry ? "primary" : ""}
                disabled={isBusy || !outcome?.isDry || outcome.result.imported === 0}
                onClick={() => void run(file, sentOptions(options, header, mapped), {})}
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

/** Whether the names of the columns stay the same with what the service suggests. */
const areNamesRead = ({ columns, suggested: { encoding, headerRow } }: FileHeader, reading: Reading): boolean =>
  (!headerRow || headerRow === reading.headerRow) &&
  (!encoding || encoding === reading.encoding || columns.every(({ name }) => /^[ -~]*$/.test(name)));

/** The field of each column that the service has found. */
const foundBy = ({ columns }: FileHeader): Mapped =>
  Object.fromEntries(columns.map(({ name, field }) => [name, field ?? ""]));

function sentOptions(options: Options, header: FileHeader | null, mapped: Mapped) {
  const renamed = Object.entries(mapped)
    .filter(([name, field]) => field && field !== name)
    .map(([name, field]) => [name, field === LEFT_OUT ? null : field]);
  return {
    mode: options.mode,
    atomic: options.atomic,
    ...(options.mode === "upsert" && options.key ? { key: options.key } : {}),
    ...options.reading,
    ...(renamed.length ? { columns: Object.fromEntries(renamed) } : {}),
    ...(header?.sheet ? { sheet: header.sheet } : {}),
    ...(header?.sheet && options.timeZone ? { timeZone: options.timeZone } : {}),
  };
}

type Sent = ReturnType<typeof sentOptions>;

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
