// Home of a tenant: how many rows there are, and what happened last.
import { call } from "../api/api";
import { type Entity, mayArea, meta, type Row } from "../api/meta";
import { Icon } from "../parts/Icon";
import { Notice, Ready, useLoaded } from "../parts/States";
import { Title } from "../parts/Title";
import { href } from "../session/routes";
import { profile } from "../session/session";
import { ago, exactTime, number, t } from "../words/words";
import { PersonName } from "./names";

const MOST_TILES = 24;

interface Counted {
  items: Row[];
  hasNextPage: boolean;
  totalCount: number | null;
  totalCountIsEstimate?: boolean;
}

export function Home() {
  const own = new Set(["audit-events", "applications"]);
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
        </div>
      </section>
      {mayArea("audit") && <Latest />}
    </>
  );
}

function Tile({ entity }: { entity: Entity }) {
  const loaded = useLoaded<Counted>(async () => {
    const query = { pageSize: "100", count: "estimated", fields: "id" };
    const { data } = await call<Counted>("GET", `/api/${entity.plural}`, { query });
    // what fits on a page is counted by looking at it: estimates are rough where there is little
    return data.hasNextPage ? data : { ...data, totalCount: data.items.length, totalCountIsEstimate: false };
  }, [entity.plural]);
  const total = loaded.data?.totalCount;
  const shown = typeof total === "number" ? number(total) : loaded.error ? "–" : "…";
  return (
    <a class="tile" href={href("rows", entity.plural)}>
      <bdi class="muted">{entity.title}</bdi>
      <strong>
        {loaded.data?.totalCountIsEstimate && "≈ "}
        {shown}
      </strong>
    </a>
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
          <div class="table-box">
            <table class="plain">
              <tbody>
                {events.map((event) => (
                  <tr key={event.id}>
                    <td>
                      <span class="row">
                        <Icon name="activity" class="muted" />
                        <code>{String(event.action)}</code>
                      </span>
                    </td>
                    <td>
                      <PersonName id={event.actorId as string | null} />
                    </td>
                    <td class="muted numeric">
                      <time dateTime={String(event.occurredAt)} title={exactTime(String(event.occurredAt))}>
                        {ago(String(event.occurredAt))}
                      </time>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Ready>
    </section>
  );
}
