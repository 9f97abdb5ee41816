// Home of a tenant: how many rows there are, who changed what, members and their last sign-in, and what comes next.
import { useState } from "preact/hooks";
import { call } from "../api/api";
import { type Entity, mayArea, type Row, rowLabel, scope } from "../api/meta";
import type { ServiceAccountItem, UserItem } from "../api/types";
import { Icon } from "../parts/Icon";
import { Spark } from "../parts/Plot";
import { dataEntities } from "../parts/places";
import { type Loaded, Notice, Together, useLoaded } from "../parts/States";
import type { Paged } from "../parts/Table";
import { Title } from "../parts/Title";
import { href } from "../session/routes";
import { may, profile } from "../session/session";
import { ago, number, t } from "../words/words";
import { Changes, Events, Members, NextSteps } from "./homeParts";
import { endsSoon } from "./identity";

const MOST_TILES = 24;
const SOME = 10_000; // rows that are sorted by their last change, for which no index is needed
const MOST_CHANGED = 8; // entities whose changes are read
const CHANGED = 10; // of each of them

interface Counted {
  items: Row[];
  hasNextPage: boolean;
  totalCount: number | null;
  totalCountIsEstimate?: boolean;
}

/** A row that was created or changed, with the person who did it. */
export interface Change {
  entity: Entity;
  id: string;
  label: string;
  at: string;
  by: string | null;
  isNew: boolean;
}

interface Numbers {
  total: number | null;
  isEstimate: boolean;
  /** When the newest hundred came, the newest first; null for who may not read that. */
  times: string[] | null;
  isAll: boolean;
}

interface Data extends Numbers {
  /** Null until they are read. */
  changes: Change[] | null;
}

export function Home() {
  const first = profile.value?.fullName.split(" ")[0] ?? "";
  return (
    <>
      <div class="head">
        <Title>{t("home.hello", { name: first })}</Title>
      </div>
      <Together>
        <Panels />
      </Together>
    </>
  );
}

function Panels() {
  const entities = dataEntities().slice(0, MOST_TILES);
  // each entity is shown as soon as it is read
  const [read, setRead] = useState<ReadonlyMap<string, Data>>(new Map());
  const seen = (plural: string, data: Data) => setRead((before) => new Map(before).set(plural, data));
  const hasMembers = mayArea("members") && may("read:users") && !scope.value;
  const members = useLoaded(async () => (hasMembers ? newestMembers() : null), []);
  return (
    <>
      {!scope.value && <NextSteps entities={entities} totals={read} members={members.data?.totalCount ?? null} />}
      {entities.length === 0 && <Notice icon="database" title={t("home.empty")} text={t("home.empty.text")} />}
      <div class="cards">
        {entities.map((entity, index) => (
          <Tile
            key={entity.plural}
            entity={entity}
            isFollowed={index < MOST_CHANGED}
            seen={(data) => seen(entity.plural, data)}
          />
        ))}
        {hasMembers && <MembersTile loaded={members} />}
      </div>
      <div class="home">
        <div>
          {entities.length > 0 && (
            <Changes
              isBusy={entities.some(({ plural }) => !read.get(plural)?.changes)}
              changes={[...read.values()].flatMap((data) => data.changes ?? [])}
            />
          )}
        </div>
        <div>
          {may("read:service-accounts") && <Care />}
          {members.data && <Members users={members.data.items} />}
          {mayArea("audit") && <Events />}
        </div>
      </div>
    </>
  );
}

const newestMembers = async () => {
  const query = { pageSize: "100", sortBy: "createdAt", sortDirection: "desc" };
  return (await call<Paged<UserItem>>("GET", "/api/users", { query })).data;
};

/** Rows as the tiles ask for them: when the newest came is read with the page that is asked for anyway. */
async function numbersOf(entity: Entity): Promise<Numbers> {
  const isDated = entity.fields.some((field) => field.name === "createdAt" && field.sortable);
  const newest: Record<string, string> = isDated
    ? { fields: "id,createdAt", sort: "createdAt:desc" }
    : { fields: "id" };
  const query = { pageSize: "100", count: "estimated", ...newest };
  const { data } = await call<Counted>("GET", `/api/${entity.plural}`, { query });
  return {
    total: data.totalCount,
    isEstimate: !!data.totalCountIsEstimate,
    times: isDated ? data.items.map((row) => String(row.createdAt)) : null,
    isAll: !data.hasNextPage,
  };
}

/** The rows that were changed last; of many rows those that were created last, which an index finds. */
async function changesOf(entity: Entity, total: number | null): Promise<Change[]> {
  const names = new Set(entity.fields.map((field) => field.name));
  const sort = names.has("updatedAt") && total !== null && total <= SOME ? "updatedAt" : "createdAt";
  if (!total || !names.has(sort)) return [];
  const asked = ["id", entity.display, "createdAt", "createdBy", "updatedAt", "updatedBy", "version"];
  const fields = asked.filter((name) => name && (name === "id" || names.has(name))).join();
  const query = { pageSize: String(CHANGED), count: "none", sort: `${sort}:desc`, fields };
  const { data } = await call<{ items: Row[] }>("GET", `/api/${entity.plural}`, { query });
  return data.items.map((row) => {
    const isNew = sort === "createdAt" || row.version === 1 || row.createdAt === row.updatedAt;
    return {
      entity,
      id: row.id,
      label: rowLabel(entity, row),
      at: String(isNew ? row.createdAt : row.updatedAt),
      by: ((isNew ? row.createdBy : row.updatedBy) as string | null | undefined) ?? null,
      isNew,
    };
  });
}

interface TileProps {
  entity: Entity;
  /** Whether the latest changes are read too. */
  isFollowed: boolean;
  seen: (data: Data) => void;
}

function Tile({ entity, isFollowed, seen }: TileProps) {
  const loaded = useLoaded<Numbers>(async () => {
    const nothing = { total: null, isEstimate: false, times: null, isAll: true, changes: [] };
    try {
      const numbers = await numbersOf(entity);
      // shown before the changes are read
      loaded.set(numbers);
      seen({ ...numbers, changes: null });
      seen({ ...numbers, changes: isFollowed ? await changesOf(entity, numbers.total).catch(() => []) : [] });
      return numbers;
    } catch (error) {
      seen(nothing);
      throw error;
    }
  }, [entity.plural]);
  return <NumberTile title={entity.title} to={href("rows", entity.plural)} loaded={loaded} />;
}

function MembersTile({ loaded }: { loaded: Loaded<Paged<UserItem> | null> }) {
  const data = loaded.data && {
    total: loaded.data.totalCount,
    isEstimate: false,
    times: loaded.data.items.map((user) => user.createdAt),
    isAll: loaded.data.totalPages <= 1,
  };
  return <NumberTile title={t("members")} to={href("people")} loaded={{ data, error: loaded.error }} />;
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

function NumberTile({
  title,
  to,
  loaded,
}: {
  title: string;
  to: string;
  loaded: Pick<Loaded<Numbers>, "data" | "error">;
}) {
  const { data, error } = loaded;
  const shown = typeof data?.total === "number" ? number(data.total) : error ? "–" : "…";
  const since = data?.times && recent(data.times, data.isAll);
  return (
    <a class="tile" href={to}>
      <bdi class="muted">{title}</bdi>
      <strong>
        {shown}
        {data?.isEstimate && "+"}
      </strong>
      {/* as high before the numbers are there as after */}
      <span class="muted small">{since ? since.text : "\u00a0"}</span>
      <Spark counts={since ? since.counts : Array.from({ length: DAYS }, () => 0)} />
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
