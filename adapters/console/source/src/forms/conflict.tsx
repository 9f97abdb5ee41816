// Somebody else saved the row meanwhile (412): theirs and mine side by side, field by field.
import { useState } from "preact/hooks";
import type { Entity, Field, Row } from "../api/meta";
import { titleOf, Value } from "../grid/cells";
import { Dialog } from "../parts/Dialog";
import { t } from "../words/words";

interface Props {
  entity: Entity;
  before: Row;
  theirs: Row;
  mine: Record<string, unknown>;
  onClose: () => void;
  keep: (body: Record<string, unknown>) => void;
}

const same = (a: unknown, b: unknown) => JSON.stringify(a ?? null) === JSON.stringify(b ?? null);

export function Conflict({ entity, before, theirs, mine, onClose, keep }: Props) {
  const contested = (field: Field) => !same(before[field.name], theirs[field.name]);
  const fields = entity.fields.filter((field) => field.writable && (field.name in mine || contested(field)));
  const [chosen, choose] = useState<Record<string, boolean>>(
    Object.fromEntries(fields.map((field) => [field.name, field.name in mine])),
  );
  const body = Object.fromEntries(Object.entries(mine).filter(([name]) => chosen[name]));
  return (
    <Dialog
      title={t("conflict.title")}
      wide
      onClose={onClose}
      actions={
        <>
          <button type="button" onClick={onClose}>
            {t("cancel")}
          </button>
          <button type="button" class="primary" onClick={() => keep(body)}>
            {t("conflict.save")}
          </button>
        </>
      }
    >
      <p>{t("conflict.text")}</p>
      <div class="table-box">
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">{t("field")}</th>
              <th scope="col">{t("conflict.theirs")}</th>
              <th scope="col">{t("conflict.mine")}</th>
            </tr>
          </thead>
          <tbody>
            {fields.map((field) => (
              <tr key={field.name}>
                <th scope="row">
                  <bdi>{titleOf(field)}</bdi>
                </th>
                {[false, true].map((isMine) => (
                  <td key={String(isMine)}>
                    {isMine && !(field.name in mine) ? (
                      <span class="muted">{t("conflict.untouched")}</span>
                    ) : (
                      <label class="check">
                        <input
                          type="radio"
                          name={field.name}
                          checked={chosen[field.name] === isMine}
                          onChange={() => choose({ ...chosen, [field.name]: isMine })}
                        />
                        <span>
                          <Value field={field} value={isMine ? mine[field.name] : theirs[field.name]} isWhole />
                        </span>
                      </label>
                    )}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Dialog>
  );
}
