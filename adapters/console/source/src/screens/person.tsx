// A person: roles in this tenant, state, and "why may they?": which role gives which permission.
import { useState } from "preact/hooks";
import { call } from "../api/api";
import type { HeldPermission, ListedRoleItem as Role, UserDetail } from "../api/types";
import { Submit } from "../parts/Button";
import { ask } from "../parts/Dialog";
import { Summary, TextField, useTexts } from "../parts/Fields";
import { Icon } from "../parts/Icon";
import { Ready, useLoaded } from "../parts/States";
import { Tags } from "../parts/Table";
import { Crumb, Head } from "../parts/Title";
import { attempt, toast } from "../parts/Toast";
import { useUnsaved } from "../parts/unsaved";
import { gone } from "../session/routes";
import { may } from "../session/session";
import { userId } from "../session/tokens";
import { ago, date, exactTime, t } from "../words/words";
import { permissionsOf, rolesOf, wider } from "./identity";
import { RolePicker } from "./RolePicker";
import { Sessions } from "./sessions";

export function Person({ id }: { id: string }) {
  const path = `/api/users/${encodeURIComponent(id)}`;
  const loaded = useLoaded(async () => (await call<UserDetail>("GET", path)).data, [path]);
  const roles = useLoaded(async () => (may("read:roles") ? rolesOf() : []), []);
  return (
    <>
      <Crumb to="people">{t("members")}</Crumb>
      <Ready loaded={loaded} isScreen>
        {(user) => (
          <>
            <Head
              name={user.fullName || user.email}
              state={
                <>
                  {!user.isActive && <span class="badge bad">{t("members.disabled")}</span>}
                  {user.isLocked && <span class="badge warn">{t("person.locked")}</span>}
                  {user.secondFactorsLockedUntil && (
                    <span class="badge warn" title={exactTime(user.secondFactorsLockedUntil)}>
                      {t("person.factors.locked")}
                    </span>
                  )}
                </>
              }
            >
              <Actions user={user} path={path} set={loaded.set} />
            </Head>
            <div class="columns">
              <div class="section">
                <Details key={user.id} user={user} path={path} set={loaded.set} roles={roles.data ?? []} />
                {may("read:roles") && <Why user={user} />}
              </div>
              <div class="section">
                <Facts user={user} />
                <Sessions
                  path={`${path}/sessions`}
                  mayEnd={user.may.endSessions}
                  endAll={(reload) => endAll(path, reload)}
                />
              </div>
            </div>
          </>
        )}
      </Ready>
    </>
  );
}

async function endAll(path: string, reload: () => Promise<void>): Promise<void> {
  if (!(await ask(t("sessions.all"), t("sessions.all.theirs"), t("sessions.all")))) return;
  if (await attempt(() => call("DELETE", `${path}/sessions`), "sessions.ended")) await reload();
}

interface Props {
  user: UserDetail;
  path: string;
  set: (user: UserDetail) => void;
}

function Actions({ user, path, set }: Props) {
  const change = (method: string, to: string, json?: unknown) =>
    attempt(async () => set((await call<UserDetail>(method, to, { json })).data), "saved");
  async function remove(): Promise<void> {
    const title = t("person.remove.title", { name: user.fullName });
    if (!(await ask(title, t("person.remove.text"), t("person.remove")))) return;
    if (await attempt(() => call("DELETE", path), "person.removed")) await gone("people");
  }
  async function resetFactors(): Promise<void> {
    const title = t("person.factors.title", { name: user.fullName });
    if (!(await ask(title, t("person.factors.text"), t("person.factors")))) return;
    await attempt(() => call("DELETE", `${path}/factors`), "person.factors.done");
  }
  return (
    <>
      {user.isLocked && user.may.change && (
        <button type="button" onClick={() => void change("POST", `${path}/unlock`)}>
          {t("person.unlock")}
        </button>
      )}
      {user.may.disable && (
        <button type="button" onClick={() => void change("PUT", path, { isActive: !user.isActive })}>
          {t(user.isActive ? "person.disable" : "person.enable")}
        </button>
      )}
      {user.may.disable && user.id !== userId.value && (
        <button type="button" onClick={() => void resetFactors()}>
          {t("person.factors")}
        </button>
      )}
      {user.may.remove && (
        <button type="button" class="quiet-danger" onClick={() => void remove()}>
          <Icon name="trash-2" />
          {t("person.remove")}
        </button>
      )}
    </>
  );
}

const textsOf = ({ fullName, email, phoneNumber }: UserDetail) => ({ fullName, email, phoneNumber: phoneNumber ?? "" });

const sorted = (names: string[]) => [...names].sort().join();

function Details({ user, path, set, roles }: Props & { roles: Role[] }) {
  const mayGive = may("update:users");
  const { texts, sending, field, stored } = useTexts(textsOf(user), user.may.change);
  const [chosen, choose] = useState(user.roles);
  const hasOther = sorted(chosen) !== sorted(user.roles);
  useUnsaved(mayGive && hasOther);
  function submit(event: Event): void {
    event.preventDefault();
    void sending.run(async () => {
      const json: Record<string, unknown> = {};
      if (texts.fullName !== user.fullName) json.fullName = texts.fullName;
      if (texts.email !== user.email) json.email = texts.email;
      if (texts.phoneNumber !== (user.phoneNumber ?? "")) json.phoneNumber = texts.phoneNumber || null;
      if (hasOther) json.roles = chosen;
      const { data } = await call<UserDetail>("PUT", path, { json });
      set(data);
      stored(textsOf(data));
      choose((now) => (now === chosen ? data.roles : now));
      toast(t("saved"));
    });
  }
  return (
    <form class="panel" onSubmit={submit} noValidate aria-busy={sending.isBusy}>
      <Summary sending={sending} />
      <div class="form">
        {field("fullName", t("name"))}
        {field("email", t("email"), {
          type: "email",
          disabled: !user.may.disable,
          // who may change the account but not its address has an owner before them
          hint: user.may.change && !user.may.disable ? t("person.email.owner") : undefined,
        })}
        {field("phoneNumber", t("phone"), { type: "tel" })}
      </div>
      {mayGive && !user.may.change && <p class="muted">{t("person.beyond")}</p>}
      <RolePicker legend={t("person.roles")} roles={roles} chosen={chosen} change={choose} isReading={!mayGive} />
      {mayGive && (
        <p>
          <Submit isResting={sending.isBusy}>{t("save")}</Submit>
        </p>
      )}
    </form>
  );
}

function Facts({ user }: { user: UserDetail }) {
  return (
    <dl class="facts panel-facts">
      <dt>{t("person.confirmed")}</dt>
      <dd>{t(user.emailConfirmed ? "yes" : "no")}</dd>
      <dt>{t("person.seen")}</dt>
      <dd>
        {user.lastLoginAt ? <time title={exactTime(user.lastLoginAt)}>{ago(user.lastLoginAt)}</time> : t("never")}
      </dd>
      <dt>{t("members.since")}</dt>
      <dd>{date(user.createdAt)}</dd>
      <dt>{t("person.must")}</dt>
      <dd>{t(user.mustChangePassword ? "yes" : "no")}</dd>
      <dt>{t("tenants")}</dt>
      <dd>
        <Tags names={user.tenants.map((tenant) => tenant.name)} />
      </dd>
    </dl>
  );
}

/** Which role gives which permission, and by which wildcard: the service's own answer, looked through here. */
function Why({ user }: { user: UserDetail }) {
  const [text, setText] = useState("");
  const loaded = useLoaded(async () => {
    const path = `/api/users/${encodeURIComponent(user.id)}/permissions`;
    const [held, known] = await Promise.all([
      call<{ items: HeldPermission[] }>("GET", path),
      may("read:permissions") ? permissionsOf() : [],
    ]);
    return { held: held.data.items, known: known.map((permission) => permission.name) };
  }, [user]);
  return (
    <section class="panel">
      <h2>{t("why.title")}</h2>
      <TextField label={t("why.search")} name="why" value={text} change={setText} hint={t("why.example")} />
      <Ready loaded={loaded}>{(both) => <Reasons {...both} text={text.trim().toLowerCase()} />}</Ready>
    </section>
  );
}

function Reasons({ held, known, text }: { held: HeldPermission[]; known: string[]; text: string }) {
  const by = new Map(held.map((permission) => [permission.name, permission.roles]));
  const names = [...new Set([...by.keys(), ...known])].filter((name) => name.includes(text)).sort();
  const reasons = (name: string) =>
    wider(name).flatMap((wide) => (by.get(wide) ?? []).map((role) => ({ id: role.id, role: role.name, wide })));
  const rows = names.map((name) => ({ name, because: reasons(name) })).filter((row) => row.because.length || text);
  if (!rows.length) return <p class="muted">{t(text ? "grid.nothing" : "why.none")}</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls is reached by keys
    <div class="table-box import-errors" tabIndex={0} role="region" aria-label={t("why.title")}>
      <table class="plain">
        <thead>
          <tr>
            <th scope="col">{t("permission")}</th>
            <th scope="col">{t("why.because")}</th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, 200).map((row) => (
            <tr key={row.name}>
              <td>
                <code>{row.name}</code>
              </td>
              <td>
                {row.because.length === 0 && <span class="badge bad">{t("why.not")}</span>}
                <span class="tags">
                  {row.because.map(({ id, role, wide }) => (
                    <span class="badge good" key={`${id} ${wide}`}>
                      <bdi>{role}</bdi>
                      {wide !== row.name && <code>{wide}</code>}
                    </span>
                  ))}
                </span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
