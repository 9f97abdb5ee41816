// A new key of a service account: what it may, how long it lives, and its text, which is shown once.
import { useState } from "preact/hooks";
import { call } from "../api/api";
import { copy } from "../grid/views";
import { Dialog } from "../parts/Dialog";
import { TextField } from "../parts/Fields";
import { FormDialog } from "../parts/FormDialog";
import { Icon } from "../parts/Icon";
import { t } from "../words/words";

const DAY = 86_400_000; // milliseconds

export function NewKey({ path, onClose, done }: { path: string; onClose: () => void; done: (key: string) => void }) {
  const [name, setName] = useState("");
  const [permissions, setPermissions] = useState("");
  const [days, setDays] = useState("90");
  async function send(): Promise<string> {
    const named = permissions.split(/[\s,]+/).filter(Boolean);
    const expiresAt = days ? new Date(Date.now() + Number(days) * DAY).toISOString() : undefined;
    const json = { name, ...(named.length ? { permissions: named } : {}), ...(expiresAt ? { expiresAt } : {}) };
    return (await call<{ key: string }>("POST", `${path}/keys`, { json })).data.key;
  }
  return (
    <FormDialog title={t("keys.new")} submit={t("keys.new")} onClose={onClose} send={send} done={done}>
      {(sending) => (
        <>
          <TextField label={t("name")} name="name" value={name} change={setName} sending={sending} required />
          <TextField
            label={t("keys.permissions")}
            name="permissions"
            value={permissions}
            change={setPermissions}
            sending={sending}
            hint={t("keys.permissions.hint")}
          />
          <label class="field">
            <span>{t("keys.lives")}</span>
            <select value={days} onChange={(event) => setDays(event.currentTarget.value)}>
              {["7", "30", "90", "365"].map((number) => (
                <option key={number} value={number}>
                  {t("keys.days", { count: Number(number) })}
                </option>
              ))}
              <option value="">{t("keys.forever")}</option>
            </select>
          </label>
        </>
      )}
    </FormDialog>
  );
}

export function Made({ text, onClose }: { text: string; onClose: () => void }) {
  return (
    <Dialog title={t("keys.made")} onClose={onClose} keeps>
      <p>{t("keys.made.text")}</p>
      <pre dir="ltr">{text}</pre>
      <button type="button" class="primary" onClick={() => void copy(text)}>
        <Icon name="copy" />
        {t("copy")}
      </button>
    </Dialog>
  );
}
