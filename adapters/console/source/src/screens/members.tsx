// Members of the tenant: search, filter by role and state, add one.
import { useEffect, useState } from "preact/hooks";
import { call } from "../api/api";
import { Dialog } from "../parts/Dialog";
import { CheckList, Pager, Summary, TextField, useSending } from "../parts/Fields";
import { Icon } from "../parts/Icon";
import { Notice, Ready, useLoaded } from "../parts/States";
import { Title } from "../parts/Title";
import { toast } from "../parts/Toast";
import { go, href } from "../session/routes";
import { may } from "../session/session";
import { date, t } from "../words/words";
import { type Paged, rolesOf, type UserDetail, type UserItem } from "./identity";

export function Members() {
  const [search, setSearch] = useState("");
  const [typed, setTyped] = useState("");
  const [state, setState] = useState("");
  const [role, setRole] = useState("");
  const [page, setPage] = useState(1);
  const [isAdding, setAdding] = useState(false);
  const roles = useLoaded(async () => (may("read:roles") ? rolesOf() : []), []);
  useEffect(() => {
    const timer = setTimeout(() => (setSearch(typed), setPage(1)), 250);
    return () => clearTimeout(timer);
  }, [typed]);
  const loaded = useLoaded<Paged<UserItem>>(async () => {
    const query: Record<string, string> = {
      page: String(page),
      pageSize: "50",
      sortBy: "fullName",
      sortDirection: "asc",
    };
    if (search) query.search = search;
    if (state) query.isActive = state;
    if (role) query.role = role;
    return (await call<Paged<UserItem>>("GET", "/api/users", { query })).data;
  }, [page, search, state, role]);
  return (
    <>
      <div class="head">
        <Title>{t("members")}</Title>
        <span class="space" />
        {may("create:users") && (
          <button type="button" class="primary" onClick={() => setAdding(true)}>
            <Icon name="user-plus" />
            {t("members.add")}
          </button>
        )}
      </div>
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
        {roles.data && roles.data.length > 0 && (
          <span class="pick">
            <select aria-label={t("roles")} value={role} onChange={(event) => setRole(event.currentTarget.value)}>
              <option value="">{t("members.any")}</option>
              {roles.data.map((known) => (
                <option key={known.id}>{known.name}</option>
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
      {isAdding && <NewMember roles={(roles.data ?? []).map((known) => known.name)} onClose={() => setAdding(false)} />}
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
