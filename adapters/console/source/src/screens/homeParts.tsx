// Parts of the home screen: next steps of a new tenant, the latest changes, members with their last sign-in, events.
import type { ComponentChildren } from "preact";
import { call } from "../api/api";
import { type Entity, mayArea, type Row } from "../api/meta";
import type { UserDetail, UserItem } from "../api/types";
import { Icon } from "../parts/Icon";
import { Loading, Ready, useLoaded } from "../parts/States";
import { href } from "../session/routes";
import { may, tenant } from "../session/session";
import { ago, exactTime, t } from "../words/words";
import type { Change } from "./home";
import { EventName, Initials, PersonName, personName } from "./names";

const SHOWN = 12; // changes
const PEOPLE = 6;
const EVENTS = 6;
const SIGN_INS = 100;

const When = ({ at }: { at: string }) => (
  <time dateTime={at} title={exactTime(at)}>
    {ago(at)}
  </time>
);

/** Heading of a panel, with a link to the screen that has all of it. */
function Heading({ title, to, all }: { title: string; to?: string; all?: string }) {
  return (
    <div class="row">
      <h2>{title}</h2>
      <span class="space" />
      {to && (
        <a class="small" href={to}>
          {all}
        </a>
      )}
    </div>
  );
}

const Person = ({ id, children }: { id: string | null; children: ComponentChildren }) => (
  <>
    <Initials name={(id && personName(id)) || ""} />
    {children}
  </>
);

/** The rows that were created or changed last, of all entities. */
export function Changes({ changes, isBusy }: { changes: Change[]; isBusy: boolean }) {
  const latest = [...changes].sort((a, b) => b.at.localeCompare(a.at)).slice(0, SHOWN);
  return (
    <section class="panel">
      <Heading title={t("home.changes")} />
      {isBusy ? (
        <Loading rows={SHOWN} />
      ) : latest.length ? (
        <ul class="feed">
          {latest.map(({ entity, id, label, at, by, isNew }) => (
            <li key={id}>
              <Person id={by}>
                <span>
                  <a class="names" href={href("rows", entity.plural, id)}>
                    <bdi>{label}</bdi>
                  </a>{" "}
                  <span class="muted small">
                    {t(isNew ? "home.created" : "home.changed", { name: entity.title })} ·{" "}
                    <PersonName id={by} isPlain />
                  </span>
                </span>
                <When at={at} />
              </Person>
            </li>
          ))}
        </ul>
      ) : (
        <p class="muted">{t("home.changes.none")}</p>
      )}
    </section>
  );
}

/** The last sign-in of each person: of many from one page of the audit trail, of the others one by one. */
async function lastSignIns(users: UserItem[]): Promise<{ user: UserItem; at: string | null }[]> {
  const known = new Map<string, string>();
  if (mayArea("audit")) {
    const query = { action: "login.succeeded", pageSize: String(SIGN_INS), count: "none", sort: "occurredAt:desc" };
    const { data } = await call<{ items: Row[] }>("GET", "/api/audit-events", { query });
    for (const event of data.items) {
      const id = String(event.actorId);
      if (!known.has(id)) known.set(id, String(event.occurredAt));
    }
  }
  const shown = [...users]
    .sort((a, b) => (known.get(b.id) ?? "").localeCompare(known.get(a.id) ?? ""))
    .slice(0, PEOPLE)
    .map(async (user) => {
      const at = known.get(user.id);
      if (at) return { user, at };
      const { data } = await call<UserDetail>("GET", `/api/users/${user.id}`);
      return { user, at: data.lastLoginAt };
    });
  const found = await Promise.all(shown);
  return found.sort((a, b) => (b.at ?? "").localeCompare(a.at ?? ""));
}

export function Members({ users }: { users: UserItem[] }) {
  const loaded = useLoaded(() => lastSignIns(users), [users]);
  return (
    <section class="panel">
      <Heading title={t("home.people")} to={href("people")} all={t("home.people.all")} />
      <Ready loaded={loaded}>
        {(people) => (
          <ul class="feed">
            {people.map(({ user, at }) => (
              <li key={user.id}>
                <Initials name={user.fullName || user.email} />
                <span>
                  <a class="names" href={href("people", user.id)}>
                    <bdi>{user.fullName || user.email}</bdi>
                  </a>
                </span>
                {at ? <When at={at} /> : <span class="badge">{t("never")}</span>}
              </li>
            ))}
          </ul>
        )}
      </Ready>
    </section>
  );
}

export function Events() {
  const loaded = useLoaded<Row[]>(async () => {
    const query = { pageSize: String(EVENTS), count: "none", sort: "occurredAt:desc" };
    return (await call<{ items: Row[] }>("GET", "/api/audit-events", { query })).data.items;
  }, []);
  return (
    <section class="panel">
      <Heading title={t("home.latest")} to={href("audit")} all={t("home.all")} />
      <Ready loaded={loaded}>
        {(events) => (
          <ul class="feed">
            {events.map((event) => (
              <li key={event.id}>
                <Person id={event.actorId as string | null}>
                  <span>
                    <span class="action">
                      <EventName action={String(event.action)} />
                    </span>{" "}
                    <span class="muted small">
                      <PersonName id={event.actorId as string | null} isPlain />
                    </span>
                  </span>
                  <When at={String(event.occurredAt)} />
                </Person>
              </li>
            ))}
          </ul>
        )}
      </Ready>
    </section>
  );
}

interface StepsProps {
  entities: Entity[];
  totals: ReadonlyMap<string, { total: number | null }>;
  members: number | null;
}

/** What makes a new tenant useful, each with whether it is done; gone once all of it is. */
export function NextSteps({ entities, totals, members }: StepsProps) {
  const writable = entities.filter((entity) => entity.may.create);
  const target = writable.find((entity) => entity.may.import) ?? writable[0];
  if (totals.size < entities.length) return null;
  const hasRows = [...totals.values()].some(({ total }) => total !== 0);
  const steps: { key: string; title: string; text: string; to: string; isDone: boolean }[] = [];
  if (target) {
    const first = target.may.import ? href("rows", target.plural, "import") : href("rows", target.plural, "new");
    steps.push(step("rows", first, hasRows));
  }
  if (members !== null && may("create:users")) steps.push(step("members", href("people"), members > 1));
  if (may("update:tenant-settings"))
    steps.push(step("brand", href("settings"), !!tenant.value?.settings.branding?.primaryColor));
  // a tenant with rows and members is not new
  if (!steps.length || (hasRows && (members ?? 2) > 1)) return null;
  return (
    <section class="panel">
      <Heading title={t("home.next")} />
      <ul class="steps">
        {steps.map(({ key, title, text, to, isDone }) => (
          <li key={key} class={isDone ? "done" : ""}>
            <a href={to}>
              <Icon name={isDone ? "circle-check" : "circle-dot"} label={isDone ? t("home.next.done") : undefined} />
              <span>
                <strong>{title}</strong>
                <span class="muted small">{text}</span>
              </span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

const step = (key: "rows" | "members" | "brand", to: string, isDone: boolean) => ({
  key,
  title: t(`home.next.${key}`),
  text: t(`home.next.${key}.text`),
  to,
  isDone,
});
