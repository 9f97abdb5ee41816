// Roles × resources: a matrix whose changes are gathered and saved role by role.
import { useState } from "preact/hooks";
import { call } from "../api/api";
import type { Permission, ListedRoleItem as Role } from "../api/types";
import { Button } from "../parts/Button";
import { ask } from "../parts/Dialog";
import { TextField } from "../parts/Fields";
import { FormDialog } from "../parts/FormDialog";
import { Icon } from "../parts/Icon";
import { Menu } from "../parts/Menu";
import { Ready, useLoaded } from "../parts/States";
import { Find } from "../parts/Table";
import { Head } from "../parts/Title";
import { attempt, toast } from "../parts/Toast";
import { useUnsaved } from "../parts/unsaved";
import { may, tenant } from "../session/session";
import { type Key, t } from "../words/words";
import { permissionsOf, rolesOf } from "./identity";
import { resourceName, resourceOf } from "./presets";
import { type Group, Legend, MatrixRows } from "./RoleMatrix";

interface Both {
  roles: Role[];
  permissions: Permission[];
}

export function Roles() {
  const loaded = useLoaded<Both>(async () => {
    const [roles, permissions] = await Promise.all([rolesOf(), may("read:permissions") ? permissionsOf() : []]);
    return { roles, permissions };
  }, []);
  const [isAdding, setAdding] = useState(false);
  return (
    <>
      <Head title={t("roles")}>
        {may("create:roles") && (
          <button type="button" class="primary" onClick={() => setAdding(true)}>
            <Icon name="plus" />
            {t("roles.add")}
          </button>
        )}
      </Head>
      <Ready loaded={loaded}>{(both) => <Matrix {...both} reload={loaded.reload} />}</Ready>
      {isAdding && <NewRole onClose={() => setAdding(false)} done={loaded.reload} />}
    </>
  );
}

/** Categories that the service gives to permissions. */
const OWN = new Map<string, Key>([
  ["administration", "administration"],
  ["entities", "data"],
]);

/** What a group of permissions is called; a category that somebody made keeps its name. */
function groupName(group: string): string {
  const own = OWN.get(group);
  return own ? t(own) : group;
}

/** Permissions by what they are about: the category where one is given, else the resource behind the colon. */
function grouped(roles: Role[], permissions: Permission[]): Group[] {
  const categories = new Map<string, string>(permissions.map((known) => [known.name, known.category]));
  for (const name of roles.flatMap((role) => role.permissions)) if (!categories.has(name)) categories.set(name, "");
  const groups = new Map<string, Map<string, string[]>>();
  for (const [name, category] of categories) {
    const resources = groups.get(category || resourceOf(name)) ?? new Map<string, string[]>();
    groups.set(category || resourceOf(name), resources);
    resources.set(resourceOf(name), [...(resources.get(resourceOf(name)) ?? []), name].sort());
  }
  return [...groups]
    .sort(([a], [b]) => Number(b === "*") - Number(a === "*") || groupName(a).localeCompare(groupName(b)))
    .map(([group, resources]) => ({
      title: group === "*" ? "" : groupName(group),
      resources: [...resources].sort(([a], [b]) => resourceName(a).localeCompare(resourceName(b))),
    }));
}

/** Roles that the system has are those of every tenant: they are changed where all tenants are administered. */
const isOfOthers = (role: Role) => role.isSystem && tenant.value?.identifier !== "system";

/** Why this caller can neither give nor take the permission; empty where they can. */
function reasonOf(role: Role, name: string): string {
  if (isOfOthers(role) || !role.may.change) return t("roles.system");
  return may(name) ? "" : t("roles.lacking");
}

const isFound = ([resource, names]: Group["resources"][number], wanted: string) =>
  resourceName(resource).toLowerCase().includes(wanted) || names.some((name) => name.includes(wanted));

/** Columns that a browser draws at once, and somebody compares. */
const MOST_COLUMNS = 24;

function Matrix({ roles: all, permissions, reload }: Both & { reload: () => Promise<void> }) {
  const [changed, setChanged] = useState<Record<string, string[]>>({});
  const [text, setText] = useState("");
  const [named, setNamed] = useState("");
  const [isWhole, setWhole] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const found = all.filter((role) => role.name.toLowerCase().includes(named.trim().toLowerCase()));
  const roles = found.slice(0, MOST_COLUMNS);
  const mayWrite = may("update:roles");
  const held = (role: Role) => changed[role.id] ?? role.permissions;

  function set(role: Role, next: string[]): void {
    const isBack = [...next].sort().join() === [...role.permissions].sort().join();
    const { [role.id]: _, ...others } = changed;
    setChanged(isBack ? others : { ...others, [role.id]: next });
  }

  async function save(): Promise<void> {
    setBusy(true);
    await attempt(async () => {
      // read again: what somebody else gave or took meanwhile stays so
      const fresh = await rolesOf();
      for (const [id, names] of Object.entries(changed)) {
        const seen = all.find((role) => role.id === id)?.permissions ?? [];
        const now = fresh.find((role) => role.id === id)?.permissions ?? seen;
        const kept = now.filter((name) => names.includes(name) || !seen.includes(name));
        const given = names.filter((name) => !seen.includes(name) && !now.includes(name));
        await call("PUT", `/api/roles/${id}`, { json: { permissions: [...kept, ...given] } });
      }
      setChanged({});
    }, "saved");
    setBusy(false);
    await reload();
  }

  const wanted = text.trim().toLowerCase();
  const groups = grouped(all, permissions)
    .map(({ title, resources }) => ({ title, resources: resources.filter((each) => isFound(each, wanted)) }))
    .filter(({ resources }) => resources.length);
  const count = Object.keys(changed).length;
  useUnsaved(count > 0);
  const isLimited =
    mayWrite &&
    roles.some((role) =>
      groups.some(({ resources }) => resources.some(([, names]) => names.some((name) => reasonOf(role, name)))),
    );
  return (
    <>
      <div class="tools">
        <Find value={text} change={setText} placeholder={t("permission")} />
        <label class="check">
          <input type="checkbox" checked={isWhole} onChange={() => setWhole(!isWhole)} />
          {t("roles.each")}
        </label>
        {all.length > MOST_COLUMNS && (
          <>
            <Find value={named} change={setNamed} placeholder={t("roles.search")} label={t("roles.search")} />
            <span class="muted small" role="status">
              {t("shown.of", { shown: roles.length, count: found.length })}
            </span>
          </>
        )}
        {count > 0 && (
          <>
            <Button class="primary" isResting={isBusy} onClick={() => void save()}>
              {t("roles.save", { count })}
            </Button>
            <button type="button" onClick={() => setChanged({})}>
              {t("form.reset")}
            </button>
          </>
        )}
      </div>
      <Legend />
      {isLimited && <p class="muted">{t("roles.limits")}</p>}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls is reached by keys */}
      <div class="table-box matrix-box" tabIndex={0} role="region" aria-label={t("roles.matrix")}>
        <table class="plain matrix">
          <thead>
            <tr>
              <th scope="col">{t("roles.resource")}</th>
              {roles.map((role) => (
                <th scope="col" key={role.id} title={role.description}>
                  <RoleMenu role={role} reload={reload} />
                </th>
              ))}
            </tr>
          </thead>
          <MatrixRows
            groups={groups}
            roles={roles}
            held={held}
            set={set}
            mayWrite={mayWrite}
            reasonOf={reasonOf}
            isWhole={isWhole || (wanted !== "" && wanted.includes(":"))}
          />
        </table>
      </div>
    </>
  );
}

function RoleMenu({ role, reload }: { role: Role; reload: () => Promise<void> }) {
  const [isRenaming, setRenaming] = useState(false);
  const mayChange = !isOfOthers(role) && (role.may.change || role.may.remove);
  const isHeld = role.userCount > 0;
  async function remove(): Promise<void> {
    if (!(await ask(t("roles.remove.title", { name: role.name }), t("roles.remove.text"), t("delete")))) return;
    if (await attempt(() => call("DELETE", `/api/roles/${role.id}`), "roles.removed")) await reload();
  }
  if (!mayChange)
    return (
      <span>
        <bdi>{role.name}</bdi> <span class="muted">· {role.userCount}</span>
      </span>
    );
  return (
    <>
      <Menu label={`${role.name} · ${role.userCount}`} class="plain">
        {(close) => (
          <div class="menu">
            {role.may.change && (
              <button type="button" onClick={() => (close(), setRenaming(true))}>
                <Icon name="pencil" />
                {t("roles.rename")}
              </button>
            )}
            {may("delete:roles") && (
              <button type="button" disabled={!role.may.remove || isHeld} onClick={() => (close(), void remove())}>
                <Icon name="trash-2" />
                {t("delete")}
              </button>
            )}
            {may("delete:roles") && !role.may.remove && <p class="muted small">{whyKept(role)}</p>}
            {role.may.remove && isHeld && <p class="muted small">{t("roles.remove.text")}</p>}
          </div>
        )}
      </Menu>
      {isRenaming && <NewRole role={role} onClose={() => setRenaming(false)} done={reload} />}
    </>
  );
}

/** Why the role keeps its name, and stays. */
const whyKept = (role: Role) => t(role.permissions.every(may) ? "roles.shipped" : "roles.stronger");

function NewRole({ role, onClose, done }: { role?: Role; onClose: () => void; done: () => Promise<void> }) {
  const [name, setName] = useState(role?.name ?? "");
  const [description, setDescription] = useState(role?.description ?? "");
  const json = { name, description };
  return (
    <FormDialog
      title={t(role ? "roles.rename" : "roles.add")}
      submit={t("save")}
      onClose={onClose}
      send={() => (role ? call("PUT", `/api/roles/${role.id}`, { json }) : call("POST", "/api/roles", { json }))}
      done={() => (toast(t("saved")), done())}
    >
      {(sending) => (
        <>
          <TextField
            label={t("name")}
            name="name"
            value={name}
            change={setName}
            sending={sending}
            disabled={role && !role.may.rename}
            hint={role && !role.may.rename ? whyKept(role) : undefined}
            required
          />
          <TextField
            label={t("description")}
            name="description"
            value={description}
            change={setDescription}
            sending={sending}
          />
        </>
      )}
    </FormDialog>
  );
}
