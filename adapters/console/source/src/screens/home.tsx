// Home of a tenant: how many rows there are, and what happened last.
import { call } from "../api/api";
import { type Entity, mayArea, meta, type Row, scope } from "../api/meta";
import type { ServiceAccountItem } from "../api/types";
import { Icon } from "../parts/Icon";
import { Spark } from "../parts/Plot";
import { type Loaded, Notice, Ready, useLoaded } from "../parts/States";
import { type Paged, Table } from "../parts/Table";
import { Title } from "../parts/Title";
import { href } from "../session/routes";
import { may, profile } from "../session/session";
import { ago, exactTime, number, t } from "../words/words";
import { endsSoon } from "./identity";
import { EventName, PersonName } from "./names";

const MOST_TILES = 24;

interface Counted {
  items: Row[];
  hasNextPage: boolean;
  totalCount: number | null;
  totalCountIsEstimate?: boolean;
}

export function Home() {
  const own = new Set(["audit-events", "applications", "members"]);
  const entities = (meta.value?.entities ?? []).filter((entity) => !own.has(entity.plural));
  const first = profile.value?.fullName.split(" ")[0] ?? "";
  return (
    <>
      <div class="head">
        <Title>{t("home.hello", { name: first })}</Title>
      </div>
      <section class="section">
        <h2>{t("data")}</h2>
        {entities.length === 0 && <Notice icon="database" title={t("home.empty")} text={t("home.empty.text")} />}
        <div class="cards">
          {entities.slice(0, MOST_TILES).map((entity) => (
            <Tile key={entity.plural} entity={entity} />
          ))}
          {mayArea("members") && !scope.value && <MembersTile />}
        </div>
      </section>
      {may("read:service-accounts") && <Care />}
      {mayArea("audit") && <Latest />}
    </>
  );
}

/** Rows as the tiles ask for them: when the newest came is read with the page that is asked for anyway. */
function Tile({ entity }: { entity: Entity }) {
  const loaded = useLoaded<Numbers>(async () => {
    const isDated = entity.fields.some((field) => field.name === "createdAt" && field.sortable);
    const newest: Record<string, string> = isDated
      ? { fields: "id,createdAt", sort: "createdAt:desc" }
      : { fields: "id" };
    const query = { pageSize: "100", count: "estimated", ...newest };
    const { data } = await call<Counted>("GET", `/api/${entity.plural}`, { query });
    // what fits on a page is counted by looking at it: estimates are rough where there is little
    const total = data.hasNextPage ? data.totalCount : data.items.length;
    return {
      total,
      isEstimate: data.hasNextPage && !!data.totalCountIsEstimate,
      times: isDated ? data.items.map((row) => String(row.createdAt)) : null,
      isAll: !data.hasNextPage,
    };
  }, [entity.plural]);
  return <NumberTile title={entity.title} to={href("rows", entity.plural)} loaded={loaded} />;
}

function MembersTile() {
  const loaded = useLoaded<Numbers>(async () => {
    const query = { pageSize: "100", sortBy: "createdAt", sortDirection: "desc" };
    const { data } = await call<Paged<{ createdAt: string }>>("GET", "/api/users", { query });
    const times = data.items.map((user) => user.createdAt);
    return { total: data.totalCount, isEstimate: false, times, isAll: data.totalPages <= 1 };
  }, []);
  return <NumberTile title={t("members")} to={href("people")} loaded={loaded} />;
}

interface Numbers {
  total: number | null;
  isEstimate: boolean;
  /** When the newest hundred came, the newest first; null for who may not read that. */
  times: string[] | null;
  isAll: boolean;
}

const DAYS = 14;
const DAY = 86_400_000; // milliseconds

/** New ones of each of the last days, and what they say in words. Where the newest hundred reach back less far, no more
 * is known without counting all rows, and the text says so. */
function recent(times: string[], isAll: boolean): { counts: number[]; text: string } {
  const counts = Array.from({ length: DAYS }, () => 0);
  const today = Math.floor(Date.now() / DAY);
  for (const text of times) {
    // a service whose clock is ahead makes rows of tomorrow
    const back = Math.max(0, today - Math.floor(Date.parse(text) / DAY));
    if (back < DAYS) counts[DAYS - 1 - back]! += 1;
  }
  const oldest = times.at(-1);
  const isCut = !isAll && oldest !== undefined && Date.now() - Date.parse(oldest) < DAYS * DAY;
  const count = counts.reduce((sum, next) => sum + next, 0);
  const text = isCut ? t("home.cut", { count, when: ago(oldest) }) : t("home.new", { count, days: DAYS });
  return { counts, text };
}

function NumberTile({ title, to, loaded }: { title: string; to: string; loaded: Loaded<Numbers> }) {
  const { data, error } = loaded;
  const shown = typeof data?.total === "number" ? number(data.total) : error ? "–" : "…";
  const since = data?.times && recent(data.times, data.isAll);
  return (
    <a class="tile" href={to}>
      <bdi class="muted">{title}</bdi>
      <strong>
        {data?.isEstimate && "≈ "}
        {shown}
      </strong>
      {since && <Spark counts={since.counts} />}
      <span class="muted small">{since ? since.text : " "}</span>
    </a>
  );
}

/** Keys that end soon, and the programs that would stop then. */
function Care() {
  const loaded = useLoaded(async () => {
    const query = { pageSize: "100", isActive: "true" };
    const { data } = await call<{ items: ServiceAccountItem[] }>("GET", "/api/service-accounts", { query });
    return data.items.filter((account) => endsSoon(account.nextKeyEndsAt));
  }, []);
  if (!loaded.data?.length) return null;
  return (
    <section class="section">
      <h2>{t("home.care")}</h2>
      {loaded.data.map((account) => (
        <a class="bar warn" key={account.id} href={href("keys", account.id)}>
          <Icon name="triangle-alert" />
          <span>{t("home.key", { name: account.name, when: ago(account.nextKeyEndsAt!) })}</span>
        </a>
      ))}
    </section>
  );
}

function Latest() {
  const loaded = useLoaded<Row[]>(async () => {
    const query = { pageSize: "8", count: "none", sort: "occurredAt:desc" };
    return (await call<{ items: Row[] }>("GET", "/api/audit-events", { query })).data.items;
  }, []);
  return (
    <section class="section">
      <div class="row">
        <h2>{t("home.latest")}</h2>
        <span class="space" />
        <a href={href("audit")}>{t("home.all")}</a>
      </div>
      <Ready loaded={loaded}>
        {(events) => (
          <Table
            rows={events}
            hasHead={false}
            columns={[
              {
                title: "action",
                cell: (event) => (
                  <span class="row">
                    <Icon name="activity" class="muted" />
                    <span class="action">
                      <EventName action={String(event.action)} />
                    </span>
                  </span>
                ),
              },
              { title: "actor", cell: (event) => <PersonName id={event.actorId as string | null} /> },
              {
                title: "time",
                class: "muted numeric",
                cell: (event) => (
                  <time dateTime={String(event.occurredAt)} title={exactTime(String(event.occurredAt))}>
                    {ago(String(event.occurredAt))}
                  </time>
                ),
              },
            ]}
          />
        )}
      </Ready>
    </section>
  );
}
