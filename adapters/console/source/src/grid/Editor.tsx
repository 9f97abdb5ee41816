// Editing one cell: the input of the form, with its errors, above the cell. What is saved can be undone.
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, call } from "../api/api";
import { type Entity, type Field, isFile, type Row, rowLabel } from "../api/meta";
import { Input } from "../forms/inputs";
import { heldValue, isList, sentValue } from "../forms/values";
import { errorText, failed, toast } from "../parts/Toast";
import { t } from "../words/words";
import { titleOf } from "./cells";

export interface Edited {
  row: Row;
  field: Field;
  cell: Element;
}

interface Props extends Edited {
  entity: Entity;
  /** Shows the row again as it is stored now. */
  renew: (id: string) => Promise<void>;
  close: () => void;
}

/** The version of a row as `If-Match` has it; rows without a version are written as they are. */
const matching = (version: unknown): Record<string, string> =>
  version === undefined || version === null ? {} : { "If-Match": `"${version}"` };

export const mayEdit = (entity: Entity, row: Row, field: Field) =>
  entity.may.update && field.writable && !isFile(field) && row.isDeleted !== true && row[field.name] !== undefined;

export function Editor({ entity, row, field, cell, renew, close }: Props) {
  const before = heldValue(field, row[field.name]);
  const [value, setValue] = useState<unknown>(before);
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const box = useRef<HTMLFormElement>(null);
  const path = `/api/${entity.plural}/${row.id}`;

  useEffect(() => {
    const form = box.current;
    if (!form) return;
    const at = cell.getBoundingClientRect();
    form.showPopover();
    const width = Math.min(Math.max(at.width, 260), innerWidth - 16);
    form.style.inlineSize = `${width}px`;
    form.style.left = `${Math.max(8, Math.min(at.left, innerWidth - width - 8))}px`;
    form.style.top = `${Math.max(8, Math.min(at.top - 4, innerHeight - form.offsetHeight - 8))}px`;
    const input = form.querySelector<HTMLElement>("input, select, textarea, button");
    input?.focus();
    if (input instanceof HTMLInputElement && input.type !== "checkbox") input.select();
  }, []);

  async function write(sent: unknown, version: unknown): Promise<Row> {
    const options = { json: { [field.name]: sent }, headers: matching(version), exact: true };
    const { data } = await call<Row>("PATCH", path, options);
    await renew(row.id);
    return data;
  }

  function offerUndo(stored: Row): void {
    const undo = () => void write(sentValue(field, before), stored.version).then(() => toast(t("cell.undone")), failed);
    toast(t("cell.saved", { name: titleOf(field), row: rowLabel(entity, row) }), false, { text: t("undo"), run: undo });
  }

  async function save(): Promise<void> {
    if (isBusy) return;
    if (value === before) return close();
    setBusy(true);
    try {
      offerUndo(await write(sentValue(field, value), row.version));
      close();
    } catch (error) {
      const own = error instanceof ApiError ? error.fields.map(({ message }) => message).join("; ") : "";
      if (error instanceof ApiError && error.status === 412) {
        setProblem(t("cell.changed"));
        await renew(row.id).catch(() => undefined);
      } else setProblem(own || errorText(error));
    }
    setBusy(false);
  }

  function onKeyDown(event: KeyboardEvent): void {
    const isLong = event.target instanceof HTMLTextAreaElement && !event.ctrlKey && !event.metaKey;
    if (event.key === "Escape") close();
    else if (event.key === "Enter" && !isLong && !event.isComposing && !(event.target instanceof HTMLButtonElement))
      void save();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  return (
    <form
      ref={box}
      class="popover editor section"
      popover="manual"
      noValidate
      aria-busy={isBusy}
      aria-label={t("cell.edit", { name: titleOf(field), row: rowLabel(entity, row) })}
      onSubmit={(event) => (event.preventDefault(), void save())}
      onKeyDown={onKeyDown}
      onFocusOut={(event) => {
        const next = event.relatedTarget as Node | null;
        // a click beside saves, as in a spreadsheet; what is refused stays to be mended
        if (next && !event.currentTarget.contains(next)) void save();
      }}
    >
      <Input field={field} value={value} problem={problem} change={(next) => (setValue(next), setProblem(""))} />
      <div class="row">
        <button type="submit" class="primary">
          {t("save")}
        </button>
        <button type="button" onClick={close}>
          {t("cancel")}
        </button>
        {(isList(field) || field.widget === "multiline") && <span class="small muted">{t("cell.keys")}</span>}
      </div>
    </form>
  );
}
