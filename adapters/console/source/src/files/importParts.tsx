// Parts of the import: the choice of a file, its columns, and what became of its rows.
import { useState } from "preact/hooks";
import type { Entity } from "../api/meta";
import type { FileHeader, Imported } from "../api/types";
import { titleOf } from "../grid/cells";
import { Icon } from "../parts/Icon";
import { href } from "../session/routes";
import { t } from "../words/words";
import { download } from "./Export";

/** Names of fields by those of columns: empty where a column goes by its own name. */
export type Mapped = Record<string, string>;

/** What stands for a column that is left out; no field has such a name. */
export const LEFT_OUT = "-";

export const writable = (entity: Entity) => entity.fields.filter((field) => field.writable);

interface PickerProps {
  file: File | null;
  choose: (file: File) => void;
  isFixed: boolean;
}

export function FilePicker({ file, choose, isFixed }: PickerProps) {
  const [isOver, setOver] = useState(false);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: dropping is a shortcut of the button within
    <div
      class={isOver ? "drop over" : "drop"}
      onDragOver={(event) => (event.preventDefault(), setOver(true))}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        const dropped = event.dataTransfer?.files[0];
        if (dropped && !isFixed) choose(dropped);
      }}
    >
      <Icon name="upload" />
      {file ? (
        <p>
          <bdi>{file.name}</bdi>
        </p>
      ) : (
        <p class="muted">{t("import.drop")}</p>
      )}
      <label class="button">
        {t(file ? "import.other" : "import.choose")}
        <input
          type="file"
          class="unseen"
          disabled={isFixed}
          accept=".csv,.tsv,.txt,.xlsx,.parquet"
          onChange={(event) => {
            const chosen = event.currentTarget.files?.[0];
            if (chosen) choose(chosen);
          }}
        />
      </label>
    </div>
  );
}

interface MappingProps {
  entity: Entity;
  header: FileHeader;
  mapped: Mapped;
  change: (mapped: Mapped) => void;
}

export function Mapping({ entity, header, mapped, change }: MappingProps) {
  const unmapped = writable(entity).filter((field) => field.required && !Object.values(mapped).includes(field.name));
  const hasSamples = header.columns.some(({ samples }) => samples.length > 0);
  return (
    <section class="section import-mapping">
      <h2>{t("import.columns")}</h2>
      <div class="table-box">
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">{t("import.column")}</th>
              {hasSamples && <th scope="col">{t("import.sample")}</th>}
              <th scope="col">{t("field")}</th>
            </tr>
          </thead>
          <tbody>
            {header.columns.map(({ name, samples }, index) => (
              <tr key={index}>
                <th scope="row">
                  <bdi>{name || "–"}</bdi>
                </th>
                {hasSamples && (
                  <td class="muted">
                    <bdi>{samples.slice(0, 2).join(" · ").slice(0, 60)}</bdi>
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

export function Report({
  entity,
  result,
  isDry,
  name,
}: {
  entity: Entity;
  result: Imported;
  isDry: boolean;
  name: string;
}) {
  function save(): void {
    const quote = (text: string) => `"${text.replace(/"/g, '""')}"`;
    const lines = result.errors.map((error) => `${error.row},${quote(error.message)}`);
    download(new Blob([["row,message", ...lines, ""].join("\r\n")], { type: "text/csv" }), `${name}.errors.csv`);
  }
  return (
    <section class="section" role="status">
      <h2>{t(isDry ? "import.would" : "import.done", { count: result.imported })}</h2>
      {result.errors.length > 0 && (
        <p>{t(result.errorsTruncated ? "import.failed.more" : "import.failed", { count: result.errors.length })}</p>
      )}
      {result.skipped > 0 && <p class="muted">{t("import.skipped", { count: result.skipped })}</p>}
      {!isDry && (
        <p>
          <a class="button" href={href("rows", entity.plural)}>
            {t("import.see")}
          </a>
        </p>
      )}
      {result.errors.length > 0 && (
        <>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls is reached by keys */}
          <div class="table-box import-errors" tabIndex={0} role="region" aria-label={t("import.message")}>
            <table class="plain">
              <thead>
                <tr>
                  <th scope="col">{t("import.row")}</th>
                  <th scope="col">{t("import.message")}</th>
                </tr>
              </thead>
              <tbody>
                {result.errors.slice(0, 200).map((error) => (
                  <tr key={error.row}>
                    <td class="numeric">{error.row}</td>
                    <td>
                      <bdi>{error.message}</bdi>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
          {(result.errors.length > 200 || result.errorsTruncated) && <p class="muted">{t("import.first")}</p>}
          <p>
            <button type="button" onClick={save}>
              <Icon name="download" />
              {t("import.report")}
            </button>
          </p>
        </>
      )}
    </section>
  );
}
