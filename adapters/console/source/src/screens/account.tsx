// The caller's own account: profile, password, sessions, and how the console looks.
import { useState } from "preact/hooks";
import { call } from "../api/api";
import type { Profile } from "../api/types";
import { ask } from "../parts/Dialog";
import { TextField } from "../parts/Fields";
import { FormDialog } from "../parts/FormDialog";
import { Icon } from "../parts/Icon";
import { Together } from "../parts/States";
import { Tags } from "../parts/Table";
import { Head } from "../parts/Title";
import { attempt, toast } from "../parts/Toast";
import { logout, mustChangePassword, profile, reloadProfile } from "../session/session";
import { isDense, THEMES, theme } from "../session/theme";
import { chooseLanguage, LANGUAGES } from "../words/languages";
import { date, type Key, language, t } from "../words/words";
import { Factors } from "./factors";
import { MyInvitations } from "./invitations";
import { ChangePassword } from "./password";
import { Sessions } from "./sessions";

async function everywhere(): Promise<void> {
  if (!(await ask(t("sessions.all"), t("sessions.all.text"), t("sessions.all")))) return;
  await attempt(async () => {
    await call("POST", "/api/auth/logout");
    await logout();
  });
}

function changed(): void {
  mustChangePassword.value = false;
  toast(t("password.changed"));
}

export function Account() {
  const mine = profile.value;
  const [isEditing, setEditing] = useState(false);
  if (!mine) return null;
  return (
    <>
      <Head title={t("account")} />
      <Together>
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
            <ChangePassword email={mine.email} done={changed} />
          </div>
        </div>
      </Together>
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
