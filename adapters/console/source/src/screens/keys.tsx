// Service accounts and their API keys. The text of a key is shown once, when it is made.
import { useState } from "preact/hooks";
import { call } from "../api/api";
import { ask, Dialog } from "../parts/Dialog";
import { CheckList, Pager, Summary, TextField, useSending } from "../parts/Fields";
import { Icon } from "../parts/Icon";
import { Notice, Ready, useLoaded } from "../parts/States";
import { Title } from "../parts/Title";
import { failed, toast } from "../parts/Toast";
import { go, href } from "../session/routes";
import { may } from "../session/session";
import { ago, exactTime, t, time } from "../words/words";
import { type Paged, rolesOf } from "./identity";
import { Made, NewKey } from "./newkey";

interface ServiceAccount {
  id: string;
  name: string;
  description: string;
  roles: string[];
  isActive: boolean;
  createdAt: string;
  lastUsedAt: string | null;
  keys: number;
}

interface Key {
  id: string;
  name: string;
  start: string;
  permissions: string[] | null;
  networks: string[] | null;
  expiresAt: string | null;
  lastUsedAt: string | null;
  lastUsedAddress: string | null;
}

const BASE = "/api/service-accounts";

export function ServiceAccounts() {
  const [page, setPage] = useState(1);
  const [isAdding, setAdding] = useState(false);
  const loaded = useLoaded(async () => {
    const query = { page: String(page), pageSize: "50", sortBy: "name", sortDirection: "asc" };
    return (await call<Paged<ServiceAccount>>("GET", BASE, { query })).data;
  }, [page]);
  return (
    <>
      <div class="head">
        <Title>{t("keys")}</Title>
        <span class="space" />
        {may("create:service-accounts") && (
          <button type="button" class="primary" onClick={() => setAdding(true)}>
            <Icon name="plus" />
            {t("keys.add")}
          </button>
        )}
      </div>
      <Ready loaded={loaded}>
        {(accounts) =>
          accounts.items.length ? (
            <>
              <Accounts accounts={accounts.items} />
              <Pager page={accounts.page} pages={accounts.totalPages} go={setPage} />
            </>
          ) : (
            <Notice icon="key-round" title={t("keys.none")} text={t("keys.none.text")} />
          )
        }
      </Ready>
      {isAdding && <NewAccount onClose={() => setAdding(false)} />}
    </>
  );
}

function Accounts({ accounts }: { accounts: ServiceAccount[] }) {
  return (
    <div class="table-box">
      <table class="plain">
        <thead>
          <tr>
            <th scope="col">{t("name")}</th>
            <th scope="col">{t("roles")}</th>
            <th scope="col">{t("members.state")}</th>
            <th scope="col">{t("keys.keys")}</th>
            <th scope="col">{t("keys.used")}</th>
          </tr>
        </thead>
        <tbody>
          {accounts.map((account) => (
            <tr key={account.id}>
              <th scope="row">
                <a href={href("keys", account.id)}>
                  <bdi>{account.name}</bdi>
                </a>
              </th>
              <td>
                <span class="tags">
                  {account.roles.map((role) => (
                    <bdi class="badge" key={role}>
                      {role}
                    </bdi>
                  ))}
                </span>
              </td>
              <td>
                <span class={account.isActive ? "badge good" : "badge bad"}>
                  {t(account.isActive ? "members.active" : "members.disabled")}
                </span>
              </td>
              <td>{account.keys}</td>
              <td class="muted">{account.lastUsedAt ? ago(account.lastUsedAt) : t("never")}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function NewAccount({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const [chosen, choose] = useState<string[]>([]);
  const roles = useLoaded(async () => (may("read:roles") ? rolesOf() : []), []);
  const sending = useSending();
  function submit(event: Event): void {
    event.preventDefault();
    void sending.run(async () => {
      const { data } = await call<ServiceAccount>("POST", BASE, { json: { name, description, roles: chosen } });
      onClose();
      toast(t("saved"));
      await go(href("keys", data.id));
    });
  }
  return (
    <Dialog title={t("keys.add")} onClose={onClose}>
      <form class="section" onSubmit={submit} noValidate aria-busy={sending.isBusy}>
        <Summary sending={sending} />
        <TextField label={t("name")} name="name" value={name} change={setName} sending={sending} required />
        <TextField
          label={t("description")}
          name="description"
          value={description}
          change={setDescription}
          sending={sending}
        />
        <CheckList
          legend={t("roles")}
          all={(roles.data ?? []).map((role) => role.name)}
          chosen={chosen}
          change={choose}
        />
        <button type="submit" class="primary" disabled={sending.isBusy}>
          {t("keys.add")}
        </button>
      </form>
    </Dialog>
  );
}

export function ServiceAccountScreen({ id }: { id: string }) {
  const path = `${BASE}/${encodeURIComponent(id)}`;
  const loaded = useLoaded(async () => (await call<ServiceAccount>("GET", path)).data, [path]);
  const keys = useLoaded(async () => (await call<Key[]>("GET", `${path}/keys`)).data, [path]);
  const [isAdding, setAdding] = useState(false);
  const [made, setMade] = useState<string | null>(null);
  const mayChange = may("update:service-accounts");

  async function change(of: ServiceAccount): Promise<void> {
    try {
      loaded.set((await call<ServiceAccount>("PUT", path, { json: { isActive: !of.isActive } })).data);
      toast(t("saved"));
    } catch (error) {
      failed(error);
    }
  }
  async function remove(of: ServiceAccount): Promise<void> {
    if (!(await ask(t("keys.remove", { name: of.name }), t("keys.remove.text"), t("delete")))) return;
    try {
      await call("DELETE", path);
      await go(href("keys"));
    } catch (error) {
      failed(error);
    }
  }
  return (
    <>
      <a class="crumb row" href={href("keys")}>
        <Icon name="arrow-left" />
        {t("keys")}
      </a>
      <Ready loaded={loaded}>
        {(account) => (
          <>
            <div class="head">
              <Title>
                <bdi>{account.name}</bdi>
              </Title>
              {!account.isActive && <span class="badge bad">{t("members.disabled")}</span>}
              <span class="space" />
              {mayChange && (
                <button type="button" onClick={() => void change(account)}>
                  {t(account.isActive ? "person.disable" : "person.enable")}
                </button>
              )}
              {may("delete:service-accounts") && (
                <button type="button" class="quiet-danger" onClick={() => void remove(account)}>
                  <Icon name="trash-2" />
                  {t("delete")}
                </button>
              )}
            </div>
            <p class="muted">
              <bdi>{account.description}</bdi> {account.roles.join(", ")}
            </p>
            <div class="row">
              <h2>{t("keys.keys")}</h2>
              <span class="space" />
              {mayChange && (
                <button type="button" class="primary" onClick={() => setAdding(true)}>
                  <Icon name="plus" />
                  {t("keys.new")}
                </button>
              )}
            </div>
            <Ready loaded={keys}>
              {(list) =>
                list.length ? (
                  <Keys path={path} keys={list} reload={keys.reload} made={setMade} />
                ) : (
                  <p class="muted">{t("keys.empty")}</p>
                )
              }
            </Ready>
          </>
        )}
      </Ready>
      {isAdding && (
        <NewKey path={path} onClose={() => setAdding(false)} done={(key) => (setMade(key), keys.reload())} />
      )}
      {made && <Made text={made} onClose={() => setMade(null)} />}
    </>
  );
}

interface KeysProps {
  path: string;
  keys: Key[];
  reload: () => Promise<void>;
  made: (text: string) => void;
}

function Keys({ path, keys, reload, made }: KeysProps) {
  async function rotate(key: Key): Promise<void> {
    if (!(await ask(t("keys.rotate.title", { name: key.name }), t("keys.rotate.text"), t("keys.rotate"), false)))
      return;
    try {
      made((await call<{ key: string }>("POST", `${path}/keys/${key.id}/rotate`, { json: {} })).data.key);
      await reload();
    } catch (error) {
      failed(error);
    }
  }
  async function end(key: Key): Promise<void> {
    if (!(await ask(t("keys.end.title", { name: key.name }), t("keys.end.text"), t("keys.end")))) return;
    try {
      await call("DELETE", `${path}/keys/${key.id}`);
      await reload();
    } catch (error) {
      failed(error);
    }
  }
  return (
    <div class="table-box">
      <table class="plain">
        <thead>
          <tr>
            <th scope="col">{t("name")}</th>
            <th scope="col">{t("keys.start")}</th>
            <th scope="col">{t("permission")}</th>
            <th scope="col">{t("invitation.expires")}</th>
            <th scope="col">{t("keys.used")}</th>
            <th scope="col">
              <span class="unseen">{t("more")}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {keys.map((key) => (
            <tr key={key.id}>
              <th scope="row">
                <bdi>{key.name}</bdi>
              </th>
              <td>
                <code>{key.start}…</code>
              </td>
              <td>{key.permissions?.join(", ") ?? t("keys.all")}</td>
              <td class="muted">
                {key.expiresAt ? <time title={exactTime(key.expiresAt)}>{time(key.expiresAt)}</time> : t("never")}
              </td>
              <td class="muted">{key.lastUsedAt ? `${ago(key.lastUsedAt)} · ${key.lastUsedAddress}` : t("never")}</td>
              <td class="numeric">
                {may("update:service-accounts") && (
                  <>
                    <button type="button" class="plain" onClick={() => void rotate(key)}>
                      {t("keys.rotate")}
                    </button>
                    <button type="button" class="plain quiet-danger" onClick={() => void end(key)}>
                      {t("keys.end")}
                    </button>
                  </>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
