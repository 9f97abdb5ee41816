// Export of the rows that a grid shows, as a file.
import { useState } from "preact/hooks";
import { isStopped, send, whole } from "../api/api";
import type { Entity } from "../api/meta";
import { entityTitle } from "../grid/cells";
import { filterName } from "../grid/filters";
import { apiQuery, askedColumns, type View } from "../grid/view";
import { StoppableSubmit } from "../parts/Button";
import { Dialog } from "../parts/Dialog";
import { Refusal } from "../parts/Fields";
import { reasonText } from "../parts/Toast";
import { useRunning } from "../parts/unsaved";
import { t } from "../words/words";

const FORMATS = ["csv", "xlsx", "json", "parquet"];

export function ExportDialog({ entity, view, onClose }: { entity: Entity; view: View; onClose: () => void }) {
  const [format, setFormat] = useState("csv");
  const [isColumns, setColumns] = useState(false);
  const [isFiltered, setFiltered] = useState(true);
  const [problem, setProblem] = useState("");
  // whoever closes the dialog wants no file any more
  const { isBusy, begin, end, stop } = useRunning("export.leave.title", "export.leave");
  const hasFilter = view.filters.length > 0 || view.search !== "" || view.deleted;

  async function run(event: Event): Promise<void> {
    event.preventDefault();
    const signal = begin();
    setProblem("");
    const query = isFiltered ? apiQuery(view) : new URLSearchParams();
    query.set("format", format);
    if (isColumns) query.set("fields", askedColumns(entity, view).join(","));
    try {
      const response = await send("GET", `/api/${entity.plural}/export`, {
        query,
        headers: { Accept: "*/*" },
        signal,
      });
      download(await whole(response.blob()), `${entity.plural}.${format}`);
      onClose();
    } catch (error) {
      if (!isStopped(error)) setProblem(reasonText(error, (key) => filterName(entity, key)));
    }
    end();
  }

  return (
    <Dialog title={t("export.title", { name: entityTitle(entity) })} onClose={onClose}>
      <form class="section" onSubmit={run} aria-busy={isBusy}>
        <Refusal text={problem} />
        <fieldset class="radios">
          <legend>{t("export.format")}</legend>
          {FORMATS.map((name) => (
            <label class="check" key={name}>
              <input type="radio" name="format" checked={format === name} onChange={() => setFormat(name)} />
              {name === "json" || name === "csv" ? name.toUpperCase() : name === "xlsx" ? "Excel (xlsx)" : "Parquet"}
            </label>
          ))}
        </fieldset>
        {hasFilter && (
          <label class="check">
            <input type="checkbox" checked={isFiltered} onChange={() => setFiltered(!isFiltered)} />
            {t("export.filtered")}
          </label>
        )}
        <label class="check">
          <input type="checkbox" checked={isColumns} onChange={() => setColumns(!isColumns)} />
          {t("export.columns")}
        </label>
        <StoppableSubmit isBusy={isBusy} stop={stop}>
          {isBusy ? t("export.busy") : t("export")}
        </StoppableSubmit>
      </form>
    </Dialog>
  );
}

export function download(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
