// A new password for the caller's own account, after the current one.
import { useState } from "preact/hooks";
import { call } from "../api/api";
import { Submit } from "../parts/Button";
import { Summary, TextField, useSending } from "../parts/Fields";
import { PASSWORD_LENGTH } from "../signin/fields";
import { t } from "../words/words";

interface Props {
  email: string;
  done: () => void;
}

const EMPTY = { currentPassword: "", newPassword: "", repeated: "" };

export function ChangePassword({ email, done }: Props) {
  const [form, setForm] = useState(EMPTY);
  const sending = useSending();
  function submit(event: Event): void {
    event.preventDefault();
    void sending.run(async () => {
      const { repeated, ...chosen } = form;
      if (chosen.newPassword !== repeated) throw new Error(t("password.differ"));
      await call("POST", "/api/auth/change-password", { json: { ...chosen, isPasswordEncrypted: false } });
      setForm(EMPTY);
      done();
    });
  }
  return (
    <form class="panel" onSubmit={submit} noValidate aria-busy={sending.isBusy}>
      <h2>{t("password.change")}</h2>
      <p class="muted">{t("password.ends")}</p>
      <Summary sending={sending} />
      <input type="email" name="username" autocomplete="username" value={email} readOnly hidden />
      <TextField
        label={t("password.current")}
        name="currentPassword"
        type="password"
        autocomplete="current-password"
        value={form.currentPassword}
        change={(currentPassword) => setForm({ ...form, currentPassword })}
        sending={sending}
      />
      <TextField
        label={t("password.new")}
        name="newPassword"
        type="password"
        autocomplete="new-password"
        value={form.newPassword}
        change={(newPassword) => setForm({ ...form, newPassword })}
        sending={sending}
        hint={t("password.hint", PASSWORD_LENGTH)}
      />
      <TextField
        label={t("password.repeated")}
        name="repeated"
        type="password"
        autocomplete="new-password"
        value={form.repeated}
        change={(repeated) => setForm({ ...form, repeated })}
        sending={sending}
      />
      <p>
        <Submit isResting={sending.isBusy || !form.currentPassword || !form.newPassword}>{t("password.change")}</Submit>
      </p>
    </form>
  );
}
