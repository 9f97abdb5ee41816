// What became of the rows of a file: each refused row with one line for each field, and each skipped row, also as a file.
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

  const skipped = [{ title: "", message: t("import.skipped.row") }];
  const told = [
    ...result.errors.map((error) => ({ row: error.row, wrong: linesOf(error) })),
    ...(result.skippedRows ?? []).map((row) => ({ row, wrong: skipped })),
  ].sort((a, b) => a.row - b.row);
  const isCut = result.errorsTruncated || (result.skippedRows?.length ?? 0) < result.skipped;

  function save(): void {
    const rows = told.flatMap(({ row, wrong }) => wrong.map(({ title, message }) => [row, title, message]));
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
      {told.length > 0 && (
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
              {told.slice(0, SHOWN).map(({ row, wrong }) => (
                <tbody key={row}>
                  {wrong.map(({ title, message }, at) => (
                    <tr key={at}>
                      <td class="numeric">{at === 0 && row}</td>
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
          {(told.length > SHOWN || isCut) && <p class="muted">{t("import.first")}</p>}
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
