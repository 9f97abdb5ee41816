// Service accounts and their API keys. The text of a key is shown once, when it is made.

import { useState } from "preact/hooks";
import { call } from "../api/api";
import type { ApiKeyItem, ServiceAccountItem } from "../api/types";
import { copy } from "../grid/views";
import { ask, Dialog } from "../parts/Dialog";
import { TextField } from "../parts/Fields";
import { FormDialog } from "../parts/FormDialog";
import { Icon } from "../parts/Icon";
import { Notice, Ready, useLoaded } from "../parts/States";
import { Listed, Table, Tags, usePaged } from "../parts/Table";
import { Crumb, Head } from "../parts/Title";
import { attempt, toast } from "../parts/Toast";
import { go, href } from "../session/routes";
import { may } from "../session/session";
import { ago, exactTime, t, time } from "../words/words";
import { endsSoon, rolesOf } from "./identity";
import { ActiveBadge } from "./members";
import { RolePicker } from "./RolePicker";

const BASE = "/api/service-accounts";

export function ServiceAccounts() {
  const [isAdding, setAdding] = useState(false);
  const list = usePaged<ServiceAccountItem>(BASE, { sortBy: "name", sortDirection: "asc" });
  return (
    <>
      <Head title={t("keys")}>
        {may("create:service-accounts") && (
          <button type="button" class="primary" onClick={() => setAdding(true)}>
            <Icon name="plus" />
            {t("keys.add")}
          </button>
        )}
      </Head>
      <Listed list={list} empty={<Notice icon="key-round" title={t("keys.none")} text={t("keys.none.text")} />}>
        {(accounts) => <Accounts accounts={accounts} />}
      </Listed>
      {isAdding && <NewAccount onClose={() => setAdding(false)} />}
    </>
  );
}

const Accounts = ({ accounts }: { accounts: ServiceAccountItem[] }) => (
  <Table
    rows={accounts}
    columns={[
      {
        title: t("name"),
        cell: (account) => (
          <a href={href("keys", account.id)}>
            <bdi>{account.name}</bdi>
          </a>
        ),
      },
      { title: t("roles"), cell: (account) => <Tags names={account.roles} /> },
      { title: t("members.state"), cell: (account) => <ActiveBadge isActive={account.isActive} /> },
      {
        title: t("keys.keys"),
        cell: ({ keys, nextKeyEndsAt }) => (
          <>
            {keys} {endsSoon(nextKeyEndsAt) && <Ending at={nextKeyEndsAt!} />}
          </>
        ),
      },
      {
        title: t("keys.used"),
        class: "muted",
        cell: ({ lastUsedAt }) => (lastUsedAt ? ago(lastUsedAt) : t("never")),
      },
    ]}
  />
);

/** A key that ends within two weeks. */
const Ending = ({ at }: { at: string }) => (
  <span class="badge warn">
    <Icon name="triangle-alert" />
    <time title={exactTime(at)}>{t("keys.ends", { when: ago(at) })}</time>
  </span>
);

function NewAccount({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const [chosen, choose] = useState<string[]>([]);
  const roles = useLoaded(async () => (may("read:roles") ? rolesOf() : []), []);
  const json = { name, description, roles: chosen };
  return (
    <FormDialog
      title={t("keys.add")}
      submit={t("keys.add")}
      onClose={onClose}
      send={async () => (await call<ServiceAccountItem>("POST", BASE, { json })).data}
      done={(account) => (toast(t("saved")), go(href("keys", account.id)))}
    >
      {(sending) => (
        <>
          <TextField label={t("name")} name="name" value={name} change={setName} sending={sending} required />
          <TextField
            label={t("description")}
            name="description"
            value={description}
            change={setDescription}
            sending={sending}
          />
          <RolePicker roles={roles.data ?? []} chosen={chosen} change={choose} />
        </>
      )}
    </FormDialog>
  );
}

export function ServiceAccountScreen({ id }: { id: string }) {
  const path = `${BASE}/${encodeURIComponent(id)}`;
  const loaded = useLoaded(async () => (await call<ServiceAccountItem>("GET", path)).data, [path]);
  const change = (of: ServiceAccountItem) =>
    attempt(async () => {
      loaded.set((await call<ServiceAccountItem>("PUT", path, { json: { isActive: !of.isActive } })).data);
    }, "saved");
  async function remove(of: ServiceAccountItem): Promise<void> {
    if (!(await ask(t("keys.remove", { name: of.name }), t("keys.remove.text"), t("delete")))) return;
    if (await attempt(() => call("DELETE", path))) await go(href("keys"));
  }
  return (
    <>
      <Crumb to="keys">{t("keys")}</Crumb>
      <Ready loaded={loaded} isScreen>
        {(account) => (
          <>
            <Head
              name={account.name}
              state={!account.isActive && <span class="badge bad">{t("members.disabled")}</span>}
            >
              {account.may.change && (
                <button type="button" onClick={() => void change(account)}>
                  {t(account.isActive ? "person.disable" : "person.enable")}
                </button>
              )}
              {account.may.remove && (
                <button type="button" class="quiet-danger" onClick={() => void remove(account)}>
                  <Icon name="trash-2" />
                  {t("delete")}
                </button>
              )}
            </Head>
            <p class="muted">
              <bdi>{account.description}</bdi> <Tags names={account.roles} />
            </p>
            {may("update:service-accounts") && !account.may.change && <p class="muted">{t("keys.beyond")}</p>}
            <Keys path={path} mayWrite={account.may.change} />
          </>
        )}
      </Ready>
    </>
  );
}

function Keys({ path, mayWrite }: { path: string; mayWrite: boolean }) {
  const loaded = useLoaded(async () => (await call<ApiKeyItem[]>("GET", `${path}/keys`)).data, [path]);
  const [isAdding, setAdding] = useState(false);
  const [made, setMade] = useState<string | null>(null);
  return (
    <>
      <div class="row">
        <h2>{t("keys.keys")}</h2>
        <span class="space" />
        {mayWrite && (
          <button type="button" class="primary" onClick={() => setAdding(true)}>
            <Icon name="plus" />
            {t("keys.new")}
          </button>
        )}
      </div>
      <Ready loaded={loaded}>
        {(keys) =>
          keys.length ? (
            <KeyTable path={path} keys={keys} mayWrite={mayWrite} reload={loaded.reload} made={setMade} />
          ) : (
            <p class="muted">{t("keys.empty")}</p>
          )
        }
      </Ready>
      {isAdding && (
        <NewKey path={path} onClose={() => setAdding(false)} done={(key) => (setMade(key), loaded.reload())} />
      )}
      {made && <Made text={made} onClose={() => setMade(null)} />}
    </>
  );
}

interface KeysProps {
  path: string;
  keys: ApiKeyItem[];
  mayWrite: boolean;
  reload: () => Promise<void>;
  made: (text: string) => void;
}

function KeyTable({ path, keys, mayWrite, reload, made }: KeysProps) {
  async function rotate(key: ApiKeyItem): Promise<void> {
    if (!(await ask(t("keys.rotate.title", { name: key.name }), t("keys.rotate.text"), t("keys.rotate"), false)))
      return;
    await attempt(async () => {
      made((await call<{ key: string }>("POST", `${path}/keys/${key.id}/rotate`, { json: {} })).data.key);
      await reload();
    });
  }
  async function end(key: ApiKeyItem): Promise<void> {
    if (!(await ask(t("keys.end.title", { name: key.name }), t("keys.end.text"), t("keys.end")))) return;
    if (await attempt(() => call("DELETE", `${path}/keys/${key.id}`))) await reload();
  }
  return (
    <Table
      rows={keys}
      columns={[
        { title: t("name"), cell: (key) => <bdi>{key.name}</bdi> },
        { title: t("keys.start"), cell: (key) => <code>{key.start}…</code> },
        { title: t("keys.permissions"), cell: (key) => key.permissions?.join(", ") ?? t("keys.all") },
        {
          title: t("invitation.expires"),
          class: "muted",
          cell: ({ expiresAt }) => {
            if (!expiresAt) return t("never");
            return endsSoon(expiresAt) ? (
              <Ending at={expiresAt} />
            ) : (
              <time title={exactTime(expiresAt)}>{time(expiresAt)}</time>
            );
          },
        },
        {
          title: t("keys.used"),
          class: "muted",
          cell: (key) => (key.lastUsedAt ? `${ago(key.lastUsedAt)} · ${key.lastUsedAddress}` : t("never")),
        },
        {
          title: t("more"),
          isUnseen: true,
          class: "numeric",
          cell: (key) =>
            mayWrite && (
              <>
                <button type="button" class="plain" onClick={() => void rotate(key)}>
                  {t("keys.rotate")}
                </button>
                <button type="button" class="plain quiet-danger" onClick={() => void end(key)}>
                  {t("keys.end")}
                </button>
              </>
            ),
        },
      ]}
    />
  );
}

const DAY = 86_400_000; // milliseconds

/** A new key of a service account: what it may, and how long it lives. */
function NewKey({ path, onClose, done }: { path: string; onClose: () => void; done: (key: string) => void }) {
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

function Made({ text, onClose }: { text: string; onClose: () => void }) {
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
