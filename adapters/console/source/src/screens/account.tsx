// The caller's own account: profile, password, sessions, and how the console looks.
import { useState } from "preact/hooks";
import { call } from "../api/api";
import type { Profile } from "../api/types";
import { Submit } from "../parts/Button";
import { ask } from "../parts/Dialog";
import { Summary, TextField, useSending } from "../parts/Fields";
import { FormDialog } from "../parts/FormDialog";
import { Icon } from "../parts/Icon";
import { Tags } from "../parts/Table";
import { Head } from "../parts/Title";
import { attempt, toast } from "../parts/Toast";
import { logout, mustChangePassword, profile, reloadProfile } from "../session/session";
import { isDense, THEMES, theme } from "../session/theme";
import { chooseLanguage, date, type Key, LANGUAGES, language, t } from "../words/words";
import { Factors } from "./factors";
import { MyInvitations } from "./invitations";
import { Sessions } from "./sessions";

async function everywhere(): Promise<void> {
  if (!(await ask(t("sessions.all"), t("sessions.all.text"), t("sessions.all")))) return;
  await attempt(async () => {
    await call("POST", "/api/auth/logout");
    await logout();
  });
}

export function Account() {
  const mine = profile.value;
  const [isEditing, setEditing] = useState(false);
  if (!mine) return null;
  return (
    <>
      <Head title={t("account")} />
      <div class="columns">
        <div class="section">
          <section class="panel">
            <div class="row">
              <h2>{t("account.profile")}</h2>
              <span class="space" />
              <button type="button" onClick={() => setEditing(true)}>
                <Icon name="pencil" />
                {t("account.edit")}
              </button>
            </div>
            <dl class="facts">
              <dt>{t("name")}</dt>
              <dd>
                <bdi>{mine.fullName}</bdi>
              </dd>
              <dt>{t("email")}</dt>
              <dd>
                <bdi>{mine.email}</bdi>
              </dd>
              <dt>{t("phone")}</dt>
              <dd>
                <bdi>{mine.phoneNumber || "–"}</bdi>
              </dd>
              <dt>{t("roles")}</dt>
              <dd>
                <Tags names={mine.roles} />
              </dd>
              <dt>{t("members.since")}</dt>
              <dd>{date(mine.createdAt)}</dd>
            </dl>
          </section>
          {mine.emailProved && <MyInvitations joined={reloadProfile} />}
          <Sessions path="/api/auth/sessions" mayEnd endAll={everywhere} />
        </div>
        <div class="section">
          <Looks />
          <Factors />
          <Password />
        </div>
      </div>
      {isEditing && <EditProfile of={mine} onClose={() => setEditing(false)} />}
    </>
  );
}

function EditProfile({ of, onClose }: { of: Profile; onClose: () => void }) {
  const [form, setForm] = useState({ fullName: of.fullName, phoneNumber: of.phoneNumber ?? "" });
  const json = { fullName: form.fullName, phoneNumber: form.phoneNumber || null };
  return (
    <FormDialog
      title={t("account.profile")}
      submit={t("save")}
      onClose={onClose}
      send={() => call("PUT", "/api/auth/me", { json })}
      done={() => (toast(t("saved")), reloadProfile())}
    >
      {(sending) => (
        <>
          <TextField
            label={t("name")}
            name="fullName"
            autocomplete="name"
            value={form.fullName}
            change={(fullName) => setForm({ ...form, fullName })}
            sending={sending}
            required
          />
          <TextField
            label={t("phone")}
            name="phoneNumber"
            type="tel"
            autocomplete="tel"
            value={form.phoneNumber}
            change={(phoneNumber) => setForm({ ...form, phoneNumber })}
            sending={sending}
          />
        </>
      )}
    </FormDialog>
  );
}

function Looks() {
  return (
    <section class="panel">
      <h2>{t("account.looks")}</h2>
      <label class="field">
        <span>{t("account.theme")}</span>
        <select
          value={theme.value}
          onChange={(event) => (theme.value = THEMES.find((name) => name === event.currentTarget.value) ?? "system")}
        >
          {THEMES.map((name) => (
            <option key={name} value={name}>
              {t(`theme.${name}` as Key)}
            </option>
          ))}
        </select>
      </label>
      <label class="field">
        <span>{t("account.language")}</span>
        <select value={language.value} onChange={(event) => void chooseLanguage(event.currentTarget.value)}>
          {LANGUAGES.map(([code, name]) => (
            <option key={code} value={code} lang={code}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <label class="check">
        <input type="checkbox" checked={isDense.value} onChange={() => (isDense.value = !isDense.value)} />
        {t("dense")}
      </label>
    </section>
  );
}

function Password() {
  const [form, setForm] = useState({ currentPassword: "", newPassword: "" });
  const sending = useSending();
  function submit(event: Event): void {
    event.preventDefault();
    void sending.run(async () => {
      await call("POST", "/api/auth/change-password", { json: { ...form, isPasswordEncrypted: false } });
      setForm({ currentPassword: "", newPassword: "" });
      mustChangePassword.value = false;
      toast(t("password.changed"));
    });
  }
  return (
    <form class="panel" onSubmit={submit} noValidate aria-busy={sending.isBusy}>
      <h2>{t("password.change")}</h2>
      <Summary sending={sending} />
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
        hint={t("password.hint")}
      />
      <p>
        <Submit isResting={sending.isBusy || !form.currentPassword || !form.newPassword}>{t("password.change")}</Submit>
      </p>
    </form>
  );
}
