// Names of people behind ids, each read once; an id stays an id for those who may not read users. Names of events.
import { signal } from "@preact/signals";
import { ApiError, call } from "../api/api";
import { type Entity, MEMBERS, mayArea } from "../api/meta";
import { Icon } from "../parts/Icon";
import { href } from "../session/routes";
import { may, profile } from "../session/session";
import { eventText } from "../words/events";
import { t } from "../words/words";

/** Names by ids; null of somebody outside of the tenant, whom the reader may not see. */
const names = signal<ReadonlyMap<string, string | null>>(new Map());
const asked = new Set<string>();

function ask(id: string): void {
  if (asked.has(id) || !may("read:users")) return;
  asked.add(id);
  call<{ fullName: string; email: string }>("GET", `/api/users/${encodeURIComponent(id)}`).then(
    ({ data }) => {
      names.value = new Map(names.value).set(id, data.fullName || data.email);
    },
    (error) => {
      if (error instanceof ApiError && error.status === 404) names.value = new Map(names.value).set(id, null);
    },
  );
}

/** The name of a person as a text; undefined until it is read, and for those who may not read it. */
export function personName(id: string): string | undefined {
  if (id === profile.value?.id) return profile.value.fullName;
  ask(id);
  return names.value.get(id) ?? undefined;
}

interface PersonProps {
  id: string | null;
  tabIndex?: number;
  /** Without a link to the person. */
  isPlain?: boolean;
}

export function PersonName({ id, tabIndex, isPlain }: PersonProps) {
  if (!id) return <span class="muted">{t("nobody")}</span>;
  const name = personName(id);
  if (name && (isPlain || id === profile.value?.id)) return <bdi>{name}</bdi>;
  if (!may("read:users") || names.value.get(id) === null) return <Unseen id={id} />;
  if (!name) return <code title={id}>{id.slice(0, 13)}</code>;
  return (
    <a href={href("people", id)} tabIndex={tabIndex}>
      <bdi>{name}</bdi>
    </a>
  );
}

/** The address of a row; a member is shown with roles and sessions to those who may see them. */
export const rowHref = ({ plural }: Entity, id: string) =>
  plural === MEMBERS && mayArea(MEMBERS) ? href("people", id) : href("rows", plural, id);

export const Initials = ({ name }: { name: string }) => (
  <span class="initials" aria-hidden="true">
    {name
      .split(/\s+/, 2)
      .map((word) => [...word][0])
      .join("") || "·"}
  </span>
);

/** The name of a row, behind the initials of a member. */
export const RowName = ({ target, name }: { target: Entity; name: string }) => (
  <>
    {target.plural === MEMBERS && <Initials name={name} />}
    <bdi>{name}</bdi>
  </>
);

const tenants = signal<ReadonlyMap<string, string> | null>(null);
let isAsked = false;

/** Names of the first hundred tenants, read at once; the others keep their id. */
function askTenants(): void {
  if (isAsked) return;
  isAsked = true;
  const query = { pageSize: "100", sortBy: "name", sortDirection: "asc" };
  call<{ items: { id: string; name: string }[] }>("GET", "/api/tenants", { query }).then(
    ({ data }) => {
      tenants.value = new Map(data.items.map(({ id, name }) => [id, name]));
    },
    () => {
      isAsked = false;
    },
  );
}

export function TenantName({ id }: { id: string }) {
  askTenants();
  const name = tenants.value?.get(id);
  return name ? <bdi title={id}>{name}</bdi> : <code title={id}>{id.slice(0, 13)}</code>;
}

/** An action of the audit trail in words; its code, by which one filters, is told beside them or when asked. */
export const EventName = ({ action, isWhole }: { action: string; isWhole?: boolean }) => (
  <>
    <bdi title={action}>{eventText(action)}</bdi>
    {isWhole && (
      <p>
        <code>{action}</code>
      </p>
    )}
  </>
);

/** The end of the id, since ids of the same moment begin alike, and why there is no name. */
export const Unseen = ({ id }: { id: string }) => (
  <span class="locked" title={`${t("reference.unseen")} ${id}`}>
    <Icon name="lock" label={t("reference.unseen")} />
    <code>…{id.slice(-8)}</code>
  </span>
);
