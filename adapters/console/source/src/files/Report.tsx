// What became of the rows of a file: each refused row with one line for each field, also as a file.
import type { Entity, Field } from "../api/meta";
import type { Imported, RowErrorShown } from "../api/types";
import { titleOf } from "../grid/cells";
import { Icon } from "../parts/Icon";
import { href } from "../session/routes";
import { fieldTexts } from "../words/answers";
import { t } from "../words/words";
import { download } from "./Export";

const SHOWN = 200;

interface Line {
  /** Title of the field; empty for an error of the whole row. */
  title: string;
  message: string;
}

interface Props {
  entity: Entity;
  result: Imported;
  isDry: boolean;
  /** Name of the file. */
  name: string;
}

export function Report({ entity, result, isDry, name }: Props) {
  const fields = new Map(entity.fields.map((field) => [field.name, field]));
  const linesOf = ({ message, details }: RowErrorShown): Line[] =>
    details.length
      ? fieldTexts(details).map((wrong) => {
          const field = fields.get(wrong.field);
          return { title: field ? titleOf(field) : wrong.field, message: withLabels(field, wrong.message) };
        })
      : [{ title: "", message }];

  function save(): void {
    const rows = result.errors.flatMap((error) =>
      linesOf(error).map(({ title, message }) => [error.row, title, message]),
    );
    const lines = [[t("import.row"), t("field"), t("import.message")], ...rows].map((cells) =>
      cells.map(cellOf).join(","),
    );
    // Excel reads UTF-8 only after a byte order mark
    download(new Blob(["\ufeff", lines.join("\r\n"), "\r\n"], { type: "text/csv" }), `${name}.errors.csv`);
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
          <div class="table-box import-errors import-lines" tabIndex={0} role="region" aria-label={t("import.message")}>
            <table class="plain">
              <thead>
                <tr>
                  <th scope="col">{t("import.row")}</th>
                  <th scope="col">{t("field")}</th>
                  <th scope="col">{t("import.message")}</th>
                </tr>
              </thead>
              {result.errors.slice(0, SHOWN).map((error) => (
                <tbody key={error.row}>
                  {linesOf(error).map(({ title, message }, at) => (
                    <tr key={at}>
                      <td class="numeric">{at === 0 && error.row}</td>
                      <td>
                        <bdi>{title}</bdi>
                      </td>
                      <td>
                        <bdi>{message}</bdi>
                      </td>
                    </tr>
                  ))}
                </tbody>
              ))}
            </table>
          </div>
          {(result.errors.length > SHOWN || result.errorsTruncated) && <p class="muted">{t("import.first")}</p>}
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

/** The message with the label of each choice, as cells show it, before the value that a file has to hold. */
function withLabels(field: Field | undefined, message: string): string {
  const choices = field?.choices ?? [];
  const named = choices.map(({ value, label }) => (label === value ? value : `${label} (${value})`));
  const values = choices.map(({ value }) => value).join(", ");
  return values ? message.replace(values, () => named.join(", ")) : message;
}

/** A cell of a CSV file; a text that a spreadsheet would run as a formula gets an apostrophe. */
function cellOf(value: string | number): string {
  const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return `"${text.replace(/"/g, '""')}"`;
}
