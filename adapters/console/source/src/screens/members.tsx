// Members of the tenant: search, filter by role and state, add one.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { call } from "../api/api";
import { mayArea } from "../api/meta";
import type { ListedRoleItem as Role, UserDetail, UserItem } from "../api/types";
import { TextField } from "../parts/Fields";
import { FormDialog } from "../parts/FormDialog";
import { Icon } from "../parts/Icon";
import { Notice, useLoaded } from "../parts/States";
import { type Column, Listed, Pick, SearchBox, Table, Tags, usePaged } from "../parts/Table";
import { Head } from "../parts/Title";
import { toast } from "../parts/Toast";
import { go, href, query } from "../session/routes";
import { may, tenant } from "../session/session";
import { date, type Key, t } from "../words/words";
import { rolesOf } from "./identity";
import { Invitations } from "./invitations";
import { JoinRequests } from "./joining";
import { RolePicker } from "./RolePicker";

/** Members, invitations and requests to join, as tabs of one screen; each for those who may see it. */
export function Members() {
  const tabs: [name: string, text: Key][] = [["", "members"]];
  if (mayArea("invitations")) tabs.push(["invitations", "invitations"]);
  if (may("create:invitations")) tabs.push(["joining", "joining"]);
  const asked = query.value.get("tab");
  const tab = tabs.find(([name]) => name === asked)?.[0] ?? "";
  const [isAdding, setAdding] = useState(false);
  const loaded = useLoaded(async () => (may("read:roles") ? rolesOf() : []), []);
  const roles = loaded.data ?? [];
  return (
    <>
      <Head title={t("members")}>
        {may("create:users") && (
          <button type="button" class="primary" onClick={() => setAdding(true)}>
            <Icon name="user-plus" />
            {t("members.add")}
          </button>
        )}
      </Head>
      {tabs.length > 1 && (
        <div class="tabs" role="group" aria-label={t("members")}>
          {tabs.map(([name, text]) => (
            <a key={name} href={name ? `?tab=${name}` : "?"} aria-current={tab === name ? "page" : undefined}>
              {t(text)}
            </a>
          ))}
        </div>
      )}
      {tab === "invitations" ? (
        <Invitations roles={roles} />
      ) : tab === "joining" ? (
        <JoinRequests />
      ) : (
        <MemberList roles={roles.map((role) => role.name)} />
      )}
      {isAdding && <NewMember roles={roles} onClose={() => setAdding(false)} />}
    </>
  );
}

function MemberList({ roles }: { roles: string[] }) {
  const [search, setSearch] = useState("");
  const [isActive, setActive] = useState("");
  const [role, setRole] = useState("");
  const asked = { search, isActive, role, sortBy: "fullName", sortDirection: "asc" };
  // in the tenant of super-admins, /api/users lists the users of all tenants
  const own = tenant.value?.identifier === "system" ? `/api/tenants/${tenant.value.id}/users` : "/api/users";
  const list = usePaged<UserItem>(own, asked);
  return (
    <>
      <div class="tools">
        <SearchBox search={setSearch} placeholder={t("members.search")} />
        <Pick
          label={t("members.state")}
          value={isActive}
          choose={setActive}
          options={[
            ["", t("members.all")],
            ["true", t("members.active")],
            ["false", t("members.disabled")],
          ]}
        />
        {roles.length > 0 && (
          <Pick
            label={t("roles")}
            value={role}
            choose={setRole}
            options={[["", t("members.any")], ...roles.map((name): [string, string] => [name, name])]}
          />
        )}
      </div>
      <Listed list={list} empty={<Notice icon="users" title={t("grid.nothing")} />}>
        {(users) => <People users={users} />}
      </Listed>
    </>
  );
}

export const ActiveBadge = ({ isActive }: { isActive: boolean }) => (
  <span class={isActive ? "badge good" : "badge bad"}>{t(isActive ? "members.active" : "members.disabled")}</span>
);

interface PeopleProps<T> {
  users: T[];
  /** A last column with what one can do. */
  action?: (user: T) => ComponentChildren;
}

export function People<T extends UserItem>({ users, action }: PeopleProps<T>) {
  const columns: Column<T>[] = [
    {
      title: t("name"),
      cell: (user) => (
        <a href={href("people", user.id)}>
          <bdi>{user.fullName || user.email}</bdi>
        </a>
      ),
    },
    { title: t("email"), cell: (user) => <bdi>{user.email}</bdi> },
    { title: t("roles"), cell: (user) => <Tags names={user.roles} /> },
    { title: t("members.state"), cell: (user) => <ActiveBadge isActive={user.isActive} /> },
    { title: t("members.since"), class: "muted", cell: (user) => date(user.createdAt) },
  ];
  if (action) columns.push({ title: t("more"), isUnseen: true, class: "numeric", cell: action });
  return <Table rows={users} columns={columns} />;
}

function NewMember({ roles, onClose }: { roles: Role[]; onClose: () => void }) {
  const [form, setForm] = useState({ email: "", fullName: "", password: "" });
  const [chosen, choose] = useState<string[]>([]);
  const [isMailed, setMailed] = useState(false);
  const set = (name: keyof typeof form) => (value: string) => setForm({ ...form, [name]: value });
  const json = { ...form, roles: chosen, sendWelcomeEmail: isMailed };
  return (
    <FormDialog
      title={t("members.add")}
      submit={t("members.add")}
      onClose={onClose}
      send={async () => (await call<UserDetail>("POST", "/api/users", { json })).data}
      done={(user) => (toast(t("members.added")), go(href("people", user.id)))}
    >
      {(sending) => (
        <>
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
          <RolePicker roles={roles} chosen={chosen} change={choose} />
          <label class="check">
            <input type="checkbox" checked={isMailed} onChange={() => setMailed(!isMailed)} />
            {t("members.welcome")}
          </label>
        </>
      )}
    </FormDialog>
  );
}
