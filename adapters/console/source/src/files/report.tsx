// Parts of the import: the choice of a file, and what became of its rows.

import { useState } from "preact/hooks";
import type { Entity } from "../api/meta";
import type { Imported } from "../api/types";
import { Icon } from "../parts/Icon";
import { href } from "../session/routes";
import { t } from "../words/words";
import { download } from "./Export";

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
