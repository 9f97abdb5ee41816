// The tenant's own settings; and for super-admins all tenants, their members, and the switch into another one.
import { useState } from "preact/hooks";
import { call } from "../api/api";
import { EVERY, mayArea, scope } from "../api/meta";
import type { MemberItem, Tenant } from "../api/types";
import { Submit } from "../parts/Button";
import { ask } from "../parts/Dialog";
import { Summary, TextField, useTexts } from "../parts/Fields";
import { FormDialog } from "../parts/FormDialog";
import { Icon } from "../parts/Icon";
import { Notice, Ready, useLoaded } from "../parts/States";
import { Listed, SearchBox, Table, usePaged } from "../parts/Table";
import { Crumb, Head } from "../parts/Title";
import { attempt, failed, toast } from "../parts/Toast";
import { go, gone, href } from "../session/routes";
import { may, profile, switchTo, tenant } from "../session/session";
import { date, t } from "../words/words";
import { People } from "./members";

interface FormProps {
  of: Tenant;
  set: (tenant: Tenant) => void;
  /** Another form of the screen has the time zone, the language and the currency: two would undo each other. */
  isBeside?: boolean;
}

const textsOf = (of: Tenant) => ({
  name: of.name,
  identifier: of.identifier,
  domain: of.domain ?? "",
  "settings.timezone": of.settings.timezone,
  "settings.language": of.settings.language,
  "settings.currency": of.settings.currency,
  "settings.enabledFeatures": of.settings.enabledFeatures.join(", "),
});

/** Only super-admins may change a tenant; everybody else reads what is set. */
export function TenantForm({ of, set, isBeside = false }: FormProps) {
  const mayWrite = mayArea("tenants") && may("update:tenants");
  const { texts, sending, field, stored } = useTexts(textsOf(of), mayWrite);
  function submit(event: Event): void {
    event.preventDefault();
    const { name, identifier, domain } = texts;
    const enabledFeatures = texts["settings.enabledFeatures"]
      .split(",")
      .map((word) => word.trim())
      .filter(Boolean);
    const json = {
      name,
      ...(identifier === of.identifier ? {} : { identifier }),
      domain: domain || null,
      settings: {
        ...(isBeside
          ? {}
          : {
              timezone: texts["settings.timezone"],
              language: texts["settings.language"],
              currency: texts["settings.currency"],
            }),
        enabledFeatures,
      },
    };
    void sending.run(async () => {
      const { data } = await call<Tenant>("PUT", `/api/tenants/${of.id}`, { json });
      set(data);
      stored(textsOf(data));
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
        {!isBeside && (
          <>
            {field("settings.timezone", t("tenant.timezone"), { hint: t("tenant.timezone.hint") })}
            {field("settings.language", t("tenant.language"))}
            {field("settings.currency", t("tenant.currency"))}
          </>
        )}
        {field("settings.enabledFeatures", t("tenant.features"), { hint: t("tenant.features.hint") })}
      </div>
      {mayWrite ? (
        <p>
          <Submit isResting={sending.isBusy}>{t("save")}</Submit>
        </p>
      ) : (
        <p class="muted">{t("tenant.reading")}</p>
      )}
    </form>
  );
}

export function Tenants() {
  const [search, setSearch] = useState("");
  const [isAdding, setAdding] = useState(false);
  const list = usePaged<Tenant>("/api/tenants", { search, sortBy: "name", sortDirection: "asc" });
  return (
    <>
      <Head title={t("tenants")}>
        <button type="button" aria-pressed={scope.value?.id === EVERY} onClick={seeAll}>
          <Icon name="eye" />
          {t(scope.value?.id === EVERY ? "scope.off" : "scope.all")}
        </button>
        {may("create:tenants") && (
          <button type="button" class="primary" onClick={() => setAdding(true)}>
            <Icon name="plus" />
            {t("tenants.add")}
          </button>
        )}
      </Head>
      <div class="tools">
        <SearchBox search={setSearch} />
      </div>
      <Listed list={list} empty={<Notice icon="building-2" title={t("grid.nothing")} />}>
        {(tenants) => <TenantTable tenants={tenants} />}
      </Listed>
      {isAdding && <NewTenant onClose={() => setAdding(false)} />}
    </>
  );
}

/** Reads the rows of all tenants at once; nothing can be written meanwhile. */
function seeAll(): void {
  const isOn = scope.value?.id === EVERY;
  scope.value = isOn ? null : { id: EVERY, name: t("tenants") };
  if (!isOn) void go(href());
}

const TenantTable = ({ tenants }: { tenants: Tenant[] }) => (
  <Table
    rows={tenants}
    columns={[
      {
        title: t("name"),
        cell: (row) => (
          <a href={href("tenants", row.id)}>
            <bdi>{row.name}</bdi>
          </a>
        ),
      },
      { title: t("tenant.identifier"), cell: (row) => <code>{row.identifier}</code> },
      { title: t("tenant.domain"), cell: (row) => <bdi>{row.domain}</bdi> },
      {
        title: t("members.state"),
        cell: ({ isActive }) => (
          <span class={isActive ? "badge good" : "badge bad"}>{t(isActive ? "members.active" : "tenant.closed")}</span>
        ),
      },
      { title: t("members.since"), class: "muted", cell: (row) => date(row.createdAt) },
      { title: t("scope.enter"), isUnseen: true, class: "numeric", cell: (row) => <ScopeButton of={row} /> },
    ]}
  />
);

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
        if (!isOn) void go(href());
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
  const suggested = name
    .toLowerCase()
    .normalize("NFKD")
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
  const json = { name, identifier: identifier || suggested };
  return (
    <FormDialog
      title={t("tenants.add")}
      submit={t("tenants.add")}
      onClose={onClose}
      send={async () => (await call<Tenant>("POST", "/api/tenants", { json })).data}
      done={(made) => (toast(t("tenants.added")), go(href("tenants", made.id)))}
    >
      {(sending) => (
        <>
          <TextField label={t("name")} name="name" value={name} change={setName} sending={sending} required />
          <TextField
            label={t("tenant.identifier")}
            name="identifier"
            value={json.identifier}
            change={setIdentifier}
            sending={sending}
            hint={t("tenant.identifier.hint")}
            required
          />
        </>
      )}
    </FormDialog>
  );
}

export function TenantScreen({ id }: { id: string }) {
  const path = `/api/tenants/${encodeURIComponent(id)}`;
  const loaded = useLoaded(async () => (await call<Tenant>("GET", path)).data, [path]);
  const members = usePaged<MemberItem>(`${path}/users`, {});
  async function change(of: Tenant): Promise<void> {
    const title = t("tenant.close.title", { name: of.name });
    if (of.isActive && !(await ask(title, t("tenant.close.text"), t("tenant.close")))) return;
    await attempt(async () => {
      loaded.set((await call<Tenant>("PUT", path, { json: { isActive: !of.isActive } })).data);
    }, "saved");
  }
  async function remove(of: Tenant): Promise<void> {
    if (!(await ask(t("tenant.remove.title", { name: of.name }), t("tenant.remove.text"), t("delete")))) return;
    if (await attempt(() => call("DELETE", path))) await gone("tenants");
  }
  return (
    <>
      <Crumb to="tenants">{t("tenants")}</Crumb>
      <Ready loaded={loaded} isScreen>
        {(of) => (
          <>
            <Head name={of.name} state={!of.isActive && <span class="badge bad">{t("tenant.closed")}</span>}>
              <ScopeButton of={of} />
              {profile.value?.tenants.some((other) => other.id === of.id) && of.id !== tenant.value?.id && (
                <button type="button" onClick={() => switchTo(of.id).catch(failed)}>
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
            </Head>
            <TenantForm key={of.id} of={of} set={loaded.set} />
            <section class="section">
              <h2>{t("members")}</h2>
              <Listed list={members} empty={<p class="muted">{t("grid.empty")}</p>}>
                {(users) => (
                  <People
                    users={users}
                    action={(user) => <OwnerButton of={user} path={path} reload={members.reload} />}
                  />
                )}
              </Listed>
            </section>
          </>
        )}
      </Ready>
    </>
  );
}

/** Makes a member an owner, or one no more; the API keeps the last one. */
function OwnerButton({ of, path, reload }: { of: MemberItem; path: string; reload: () => Promise<void> }) {
  async function change(): Promise<void> {
    const json = { isOwner: !of.isOwner };
    if (await attempt(() => call("PUT", `${path}/users/${of.id}`, { json }), "saved")) await reload();
  }
  return (
    <>
      {of.isOwner && <span class="badge accent">{t("owners.one")}</span>}
      {may("update:users") && (
        <button type="button" class="plain" onClick={() => void change()}>
          {t(of.isOwner ? "owners.take" : "owners.make")}
        </button>
      )}
    </>
  );
}
