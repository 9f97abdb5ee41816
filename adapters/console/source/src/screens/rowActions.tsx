// What is done to a whole row: sharing, duplicating, deleting, restoring, deleting for good.
import { useState } from "preact/hooks";
import { ApiError, call } from "../api/api";
import { type Entity, isFile, type Row, rowLabel } from "../api/meta";
import { formFields, heldValue } from "../forms/values";
import { ask } from "../parts/Dialog";
import { Icon } from "../parts/Icon";
import { failed, toast } from "../parts/Toast";
import { href } from "../session/routes";
import { may } from "../session/session";
import { t } from "../words/words";
import { Shares } from "./Shares";

export interface ActionProps {
  entity: Entity;
  row: Row;
  etag: string | null;
  reload: () => Promise<void>;
  /** Leads away from a row that is not there any more. */
  leave: () => Promise<void>;
}

/** The parameter of a new row that names the row to copy. */
export const COPY = "~copy";

/** The values of a copy, as inputs hold them: what must be unique is empty, and the name says that it is a copy. */
export function copied(entity: Entity, row: Row): Record<string, unknown> {
  const unique = new Set(entity.unique.filter((names) => names.length === 1).flat());
  const values = formFields(entity)
    // a file has one holder
    .filter((field) => !unique.has(field.name) && !isFile(field) && row[field.name] !== undefined)
    .map((field) => {
      const held = heldValue(field, row[field.name]);
      const isName = field.name === entity.display && field.kind === "text" && held;
      return [field.name, isName ? t("row.copy", { name: String(held) }) : held];
    });
  return Object.fromEntries(values);
}

export function RowActions({ entity, row, etag, reload, leave }: ActionProps) {
  const path = `/api/${entity.plural}/${row.id}`;
  const name = rowLabel(entity, row);
  const isDeleted = row.isDeleted === true;
  const [isSharing, setSharing] = useState(false);

  async function act(work: () => Promise<unknown>, text: string, leaves: boolean): Promise<void> {
    try {
      await work();
      toast(text);
      await (leaves ? leave() : reload());
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 404)) return failed(error);
      // deleted by somebody else: it is shown as it is now
      toast(t("row.gone"), true);
      await reload();
    }
  }

  async function remove(): Promise<void> {
    const text = entity.has.softDelete ? t("delete.soft") : t("delete.hard");
    if (!(await ask(t("delete.row", { name }), text, t("delete")))) return;
    const headers = etag ? { "If-Match": etag } : undefined;
    await act(() => call("DELETE", path, { headers }), t("delete.done", { count: 1 }), !entity.has.softDelete);
  }

  async function purge(): Promise<void> {
    if (!(await ask(t("purge.row", { name }), t("purge.text"), t("purge")))) return;
    await act(() => call("DELETE", path, { query: { permanent: "true" } }), t("deleted.purged", { count: 1 }), true);
  }

  return (
    <>
      {!isDeleted && entity.has.shares && may(`share:${entity.plural}`) && (
        <button type="button" onClick={() => setSharing(true)}>
          <Icon name="user-plus" />
          {t("share")}
        </button>
      )}
      {isSharing && <Shares entity={entity} row={row} onClose={() => setSharing(false)} />}
      {!isDeleted && entity.may.create && (
        <a class="button" href={`${href("rows", entity.plural, "new")}?${new URLSearchParams({ [COPY]: row.id })}`}>
          <Icon name="copy-plus" />
          {t("row.duplicate")}
        </a>
      )}
      {!isDeleted && entity.may.delete && (
        <button type="button" class="quiet-danger" onClick={() => void remove()}>
          <Icon name="trash-2" />
          {t("delete")}
        </button>
      )}
      {isDeleted && entity.may.delete && (
        <button
          type="button"
          onClick={() => void act(() => call("POST", `${path}/restore`), t("deleted.restored", { count: 1 }), false)}
        >
          <Icon name="undo-2" />
          {t("restore")}
        </button>
      )}
      {isDeleted && entity.may.purge && (
        <button type="button" class="quiet-danger" onClick={() => void purge()}>
          <Icon name="trash-2" />
          {t("purge")}
        </button>
      )}
    </>
  );
}
