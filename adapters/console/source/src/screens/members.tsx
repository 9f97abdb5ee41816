// Members of the tenant: search, filter by role and state, add one.
import { useEffect, useState } from "preact/hooks";
import { call } from "../api/api";
import { mayArea } from "../api/meta";
import { Dialog } from "../parts/Dialog";
import { CheckList, Pager, Summary, TextField, useSending } from "../parts/Fields";
import { Icon } from "../parts/Icon";
import { Notice, Ready, useLoaded } from "../parts/States";
import { Title } from "../parts/Title";
import { toast } from "../parts/Toast";
import { go, href, query } from "../session/routes";
import { may } from "../session/session";
import { date, t } from "../words/words";
import { type Paged, rolesOf, type UserDetail, type UserItem } from "./identity";
import { Invitations } from "./invitations";

/** Members and invitations, as tabs of one screen; the second only for those who may read it. */
export function Members() {
  const tab = query.value.get("tab") ?? "";
  const [isAdding, setAdding] = useState(false);
  const roles = useLoaded(async () => (may("read:roles") ? rolesOf() : []), []);
  const names = (roles.data ?? []).map((role) => role.name);
  return (
    <>
      <div class="head">
        <Title>{t("members")}</Title>
        <span class="space" />
        {may("create:users") && (
          <button type="button" onClick={() => setAdding(true)}>
            <Icon name="user-plus" />
            {t("members.add")}
          </button>
        )}
      </div>
      {mayArea("invitations") && (
        <div class="tabs" role="group" aria-label={t("members")}>
          <a href="?" aria-current={tab ? undefined : "page"}>
            {t("members")}
          </a>
          <a href="?tab=invitations" aria-current={tab ? "page" : undefined}>
            {t("invitations")}
          </a>
        </div>
      )}
      {tab === "invitations" ? <Invitations roles={names} /> : <MemberList roles={names} />}
      {isAdding && <NewMember roles={names} onClose={() => setAdding(false)} />}
    </>
  );
}

function MemberList({ roles }: { roles: string[] }) {
  const [search, setSearch] = useState("");
  const [typed, setTyped] = useState("");
  const [state, setState] = useState("");
  const [role, setRole] = useState("");
  const [page, setPage] = useState(1);
  useEffect(() => {
    const timer = setTimeout(() => (setSearch(typed), setPage(1)), 250);
    return () => clearTimeout(timer);
  }, [typed]);
  const loaded = useLoaded<Paged<UserItem>>(async () => {
    const asked: Record<string, string> = {
      page: String(page),
      pageSize: "50",
      sortBy: "fullName",
      sortDirection: "asc",
    };
    if (search) asked.search = search;
    if (state) asked.isActive = state;
    if (role) asked.role = role;
    return (await call<Paged<UserItem>>("GET", "/api/users", { query: asked })).data;
  }, [page, search, state, role]);
  return (
    <>
      <div class="tools">
        <div class="find">
          <Icon name="search" />
          <input
            type="search"
            aria-label={t("search")}
            placeholder={t("members.search")}
            value={typed}
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
        </div>
        <span class="pick">
          <select
            aria-label={t("members.state")}
            value={state}
            onChange={(event) => setState(event.currentTarget.value)}
          >
            <option value="">{t("members.all")}</option>
            <option value="true">{t("members.active")}</option>
            <option value="false">{t("members.disabled")}</option>
          </select>
        </span>
        {roles.length > 0 && (
          <span class="pick">
            <select aria-label={t("roles")} value={role} onChange={(event) => setRole(event.currentTarget.value)}>
              <option value="">{t("members.any")}</option>
              {roles.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </span>
        )}
      </div>
      <Ready loaded={loaded}>
        {(users) =>
          users.items.length ? (
            <>
              <People users={users.items} />
              <Pager page={users.page} pages={users.totalPages} go={setPage} />
            </>
          ) : (
            <Notice icon="users" title={t("grid.nothing")} />
          )
        }
      </Ready>
    </>
  );
}

export function People({ users }: { users: UserItem[] }) {
  return (
    <div class="table-box">
      <table class="plain">
        <thead>
          <tr>
            <th scope="col">{t("name")}</th>
            <th scope="col">{t("email")}</th>
            <th scope="col">{t("roles")}</th>
            <th scope="col">{t("members.state")}</th>
            <th scope="col">{t("members.since")}</th>
          </tr>
        </thead>
        <tbody>
          {users.map((user) => (
            <tr key={user.id}>
              <th scope="row">
                <a href={href("people", user.id)}>
                  <bdi>{user.fullName || user.email}</bdi>
                </a>
              </th>
              <td>
                <bdi>{user.email}</bdi>
              </td>
              <td>
                <span class="tags">
                  {user.roles.map((name) => (
                    <bdi class="badge" key={name}>
                      {name}
                    </bdi>
                  ))}
                </span>
              </td>
              <td>
                <span class={user.isActive ? "badge good" : "badge bad"}>
                  {t(user.isActive ? "members.active" : "members.disabled")}
                </span>
              </td>
              <td class="muted">{date(user.createdAt)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function NewMember({ roles, onClose }: { roles: string[]; onClose: () => void }) {
  const [form, setForm] = useState({ email: "", fullName: "", password: "" });
  const [chosen, choose] = useState<string[]>([]);
  const [isMailed, setMailed] = useState(false);
  const sending = useSending();
  const set = (name: keyof typeof form) => (value: string) => setForm({ ...form, [name]: value });
  function submit(event: Event): void {
    event.preventDefault();
    void sending.run(async () => {
      const json = { ...form, roles: chosen, sendWelcomeEmail: isMailed };
      const { data } = await call<UserDetail>("POST", "/api/users", { json });
      toast(t("members.added"));
      onClose();
      await go(href("people", data.id));
    });
  }
  return (
    <Dialog title={t("members.add")} onClose={onClose}>
      <form class="section" onSubmit={submit} noValidate aria-busy={sending.isBusy}>
        <Summary sending={sending} />
        <TextField
          label={t("name")}
          name="fullName"
          value={form.fullName}
          change={set("fullName")}
          sending={sending}
          required
        />
        <TextField
          label={t("email")}
          name="email"
          type="email"
          value={form.email}
          change={set("email")}
          sending={sending}
          required
        />
        <TextField
          label={t("members.password")}
          name="password"
          type="password"
          autocomplete="new-password"
          value={form.password}
          change={set("password")}
          sending={sending}
          required
        />
        <CheckList legend={t("roles")} all={roles} chosen={chosen} change={choose} />
        <label class="check">
          <input type="checkbox" checked={isMailed} onChange={() => setMailed(!isMailed)} />
          {t("members.welcome")}
        </label>
        <button type="submit" class="primary" disabled={sending.isBusy}>
          {t("members.add")}
        </button>
      </form>
    </Dialog>
  );
}
