// The tenant's own settings; and for super-admins all tenants, their members, and the switch into another one.
import { useEffect, useState } from "preact/hooks";
import { call } from "../api/api";
import { mayArea } from "../api/meta";
import { ask, Dialog } from "../parts/Dialog";
import { Pager, Summary, TextField, useSending } from "../parts/Fields";
import { Icon } from "../parts/Icon";
import { Notice, Ready, useLoaded } from "../parts/States";
import { Title } from "../parts/Title";
import { failed, toast } from "../parts/Toast";
import { go, href } from "../session/routes";
import { enter, may, profile, scope, type Tenant, tenant } from "../session/session";
import { date, t } from "../words/words";
import type { Paged, UserItem } from "./identity";
import { People } from "./members";

/** Only super-admins may change a tenant; everybody else reads what is set. */
export function TenantForm({ of, set }: { of: Tenant; set: (tenant: Tenant) => void }) {
  const mayWrite = mayArea("tenants") && may("update:tenants");
  const [form, setForm] = useState({
    name: of.name,
    identifier: of.identifier,
    domain: of.domain ?? "",
    timezone: of.settings.timezone,
    language: of.settings.language,
    currency: of.settings.currency,
    features: of.settings.enabledFeatures.join(", "),
  });
  const sending = useSending();
  const field = (name: keyof typeof form, label: string, hint?: string) => (
    <TextField
      label={label}
      name={name}
      value={form[name]}
      change={(value) => setForm({ ...form, [name]: value })}
      sending={sending}
      hint={hint}
      disabled={!mayWrite}
    />
  );
  function submit(event: Event): void {
    event.preventDefault();
    const { name, identifier, domain, timezone, language, currency, features } = form;
    const enabledFeatures = features
      .split(",")
      .map((word) => word.trim())
      .filter(Boolean);
    const json = {
      name,
      ...(identifier === of.identifier ? {} : { identifier }),
      domain: domain || null,
      settings: { timezone, language, currency, enabledFeatures },
    };
    void sending.run(async () => {
      set((await call<Tenant>("PUT", `/api/tenants/${of.id}`, { json })).data);
      toast(t("saved"));
    });
  }
  return (
    <form class="panel" onSubmit={submit} noValidate aria-busy={sending.isBusy}>
      <Summary sending={sending} />
      <div class="form">
        {field("name", t("name"))}
        {field("identifier", t("tenant.identifier"))}
        {field("domain", t("tenant.domain"))}
        {field("timezone", t("tenant.timezone"), "Europe/Berlin")}
        {field("language", t("tenant.language"))}
        {field("currency", t("tenant.currency"))}
        {field("features", t("tenant.features"), t("tenant.features.hint"))}
      </div>
      {mayWrite ? (
        <p>
          <button type="submit" class="primary" disabled={sending.isBusy}>
            {t("save")}
          </button>
        </p>
      ) : (
        <p class="muted">{t("tenant.reading")}</p>
      )}
    </form>
  );
}

export function Tenants() {
  const [typed, setTyped] = useState("");
  const [search, setSearch] = useState("");
  const [page, setPage] = useState(1);
  const [isAdding, setAdding] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => (setSearch(typed), setPage(1)), 250);
    return () => clearTimeout(timer);
  }, [typed]);
  const loaded = useLoaded<Paged<Tenant>>(async () => {
    const query = {
      page: String(page),
      pageSize: "50",
      sortBy: "name",
      sortDirection: "asc",
      ...(search ? { search } : {}),
    };
    return (await call<Paged<Tenant>>("GET", "/api/tenants", { query })).data;
  }, [page, search]);
  return (
    <>
      <div class="head">
        <Title>{t("tenants")}</Title>
        <span class="space" />
        {may("create:tenants") && (
          <button type="button" class="primary" onClick={() => setAdding(true)}>
            <Icon name="plus" />
            {t("tenants.add")}
          </button>
        )}
      </div>
      <div class="tools">
        <div class="find">
          <Icon name="search" />
          <input
            type="search"
            aria-label={t("search")}
            placeholder={t("search")}
            value={typed}
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
        </div>
      </div>
      <Ready loaded={loaded}>
        {(tenants) =>
          tenants.items.length ? (
            <>
              <TenantTable tenants={tenants.items} />
              <Pager page={tenants.page} pages={tenants.totalPages} go={setPage} />
            </>
          ) : (
            <Notice icon="building-2" title={t("grid.nothing")} />
          )
        }
      </Ready>
      {isAdding && <NewTenant onClose={() => setAdding(false)} />}
    </>
  );
}

function TenantTable({ tenants }: { tenants: Tenant[] }) {
  return (
    <div class="table-box">
      <table class="plain">
        <thead>
          <tr>
            <th scope="col">{t("name")}</th>
            <th scope="col">{t("tenant.identifier")}</th>
            <th scope="col">{t("tenant.domain")}</th>
            <th scope="col">{t("members.state")}</th>
            <th scope="col">{t("members.since")}</th>
            <th scope="col">
              <span class="unseen">{t("scope.enter")}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {tenants.map((row) => (
            <tr key={row.id}>
              <th scope="row">
                <a href={href("tenants", row.id)}>
                  <bdi>{row.name}</bdi>
                </a>
              </th>
              <td>
                <code>{row.identifier}</code>
              </td>
              <td>
                <bdi>{row.domain}</bdi>
              </td>
              <td>
                <span class={row.isActive ? "badge good" : "badge bad"}>
                  {t(row.isActive ? "members.active" : "tenant.closed")}
                </span>
              </td>
              <td class="muted">{date(row.createdAt)}</td>
              <td class="numeric">
                <ScopeButton of={row} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Works in another tenant's rows with X-Tenant-Scope; each use is in the audit trail. */
function ScopeButton({ of }: { of: Tenant }) {
  if (of.id === tenant.value?.id) return <span class="muted small">{t("tenant.here")}</span>;
  const isOn = scope.value?.id === of.id;
  return (
    <button
      type="button"
      class="plain"
      aria-pressed={isOn}
      onClick={() => {
        scope.value = isOn ? null : { id: of.id, name: of.name };
        if (!isOn) void go("/console/");
      }}
    >
      <Icon name="eye" />
      {t(isOn ? "scope.off" : "scope.enter")}
    </button>
  );
}

function NewTenant({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [identifier, setIdentifier] = useState("");
  const sending = useSending();
  const suggested = name
    .toLowerCase()
    .normalize("NFKD")
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
  function submit(event: Event): void {
    event.preventDefault();
    void sending.run(async () => {
      const json = { name, identifier: identifier || suggested };
      const { data } = await call<Tenant>("POST", "/api/tenants", { json });
      toast(t("tenants.added"));
      onClose();
      await go(href("tenants", data.id));
    });
  }
  return (
    <Dialog title={t("tenants.add")} onClose={onClose}>
      <form class="section" onSubmit={submit} noValidate>
        <Summary sending={sending} />
        <TextField label={t("name")} name="name" value={name} change={setName} sending={sending} required />
        <TextField
          label={t("tenant.identifier")}
          name="identifier"
          value={identifier || suggested}
          change={setIdentifier}
          sending={sending}
          hint={t("tenant.identifier.hint")}
          required
        />
        <button type="submit" class="primary" disabled={sending.isBusy}>
          {t("tenants.add")}
        </button>
      </form>
    </Dialog>
  );
}

export function TenantScreen({ id }: { id: string }) {
  const path = `/api/tenants/${encodeURIComponent(id)}`;
  const loaded = useLoaded(async () => (await call<Tenant>("GET", path)).data, [path]);
  const members = useLoaded(
    async () => (await call<Paged<UserItem>>("GET", `${path}/users`, { query: { pageSize: "50" } })).data,
    [path],
  );
  async function change(of: Tenant): Promise<void> {
    if (
      of.isActive &&
      !(await ask(t("tenant.close.title", { name: of.name }), t("tenant.close.text"), t("tenant.close")))
    )
      return;
    try {
      loaded.set((await call<Tenant>("PUT", path, { json: { isActive: !of.isActive } })).data);
      toast(t("saved"));
    } catch (error) {
      failed(error);
    }
  }
  async function remove(of: Tenant): Promise<void> {
    if (!(await ask(t("tenant.remove.title", { name: of.name }), t("tenant.remove.text"), t("delete")))) return;
    try {
      await call("DELETE", path);
      await go(href("tenants"));
    } catch (error) {
      failed(error);
    }
  }
  return (
    <>
      <a class="crumb row" href={href("tenants")}>
        <Icon name="arrow-left" />
        {t("tenants")}
      </a>
      <Ready loaded={loaded}>
        {(of) => (
          <>
            <div class="head">
              <Title>
                <bdi>{of.name}</bdi>
              </Title>
              {!of.isActive && <span class="badge bad">{t("tenant.closed")}</span>}
              <span class="space" />
              <ScopeButton of={of} />
              {profile.value?.tenants.some((other) => other.id === of.id) && of.id !== tenant.value?.id && (
                <button type="button" onClick={() => enter(of.id).then(() => go("/console/"), failed)}>
                  {t("tenant.switch")}
                </button>
              )}
              {may("update:tenants") && (
                <button type="button" onClick={() => void change(of)}>
                  {t(of.isActive ? "tenant.close" : "tenant.open")}
                </button>
              )}
              {may("delete:tenants") && (
                <button type="button" class="quiet-danger" onClick={() => void remove(of)}>
                  <Icon name="trash-2" />
                  {t("delete")}
                </button>
              )}
            </div>
            <TenantForm key={of.id} of={of} set={loaded.set} />
            <section class="section">
              <h2>{t("members")}</h2>
              <Ready loaded={members}>
                {(users) =>
                  users.items.length ? <People users={users.items} /> : <p class="muted">{t("grid.empty")}</p>
                }
              </Ready>
            </section>
          </>
        )}
      </Ready>
    </>
  );
}
