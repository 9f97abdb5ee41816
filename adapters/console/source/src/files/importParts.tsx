// Parts of the import: the choice of a file, and the fields of its columns.
import { useState } from "preact/hooks";
import type { Entity } from "../api/meta";
import type { FileHeader } from "../api/types";
import { titleOf } from "../grid/cells";
import { Icon } from "../parts/Icon";
import { t } from "../words/words";

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
      class={`drop ${file ? "chosen" : ""} ${isOver ? "over" : ""}`}
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
  /** Fields that the console suggests for columns with similar names. */
  suggested: Mapped;
  change: (mapped: Mapped) => void;
}

export function Mapping({ entity, header, mapped, suggested, change }: MappingProps) {
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
              {hasSamples && (
                <th scope="col" class="sample">
                  {t("import.sample")}
                </th>
              )}
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
                  <td class="muted sample">
                    <bdi>{samples.slice(0, 2).join(" · ").slice(0, 60)}</bdi>
                  </td>
                )}
                <td>
                  <span>
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
                    {mapped[name] && mapped[name] === suggested[name] && (
                      <span class="badge warn">{t("import.suggested")}</span>
                    )}
                  </span>
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
