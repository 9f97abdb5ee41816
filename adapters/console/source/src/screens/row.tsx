// A row: its form, its related rows and its history in tabs; deleting, restoring, deleting for good.
import { useEffect, useMemo, useState } from "preact/hooks";
import { ApiError, call } from "../api/api";
import { type Entity, entityOf, type Relation, type Row, rowLabel, TRAIL } from "../api/meta";
import { Form } from "../forms/Form";
import { ApiDrawer } from "../grid/ApiDrawer";
import { entityTitle, isAction, titleOf, Value } from "../grid/cells";
import { Grid } from "../grid/Grid";
import { Pages } from "../grid/pages";
import { readView, type View } from "../grid/view";
import { ask } from "../parts/Dialog";
import { Icon } from "../parts/Icon";
import { Forbidden, Notice, Ready, useLoaded } from "../parts/States";
import { Title } from "../parts/Title";
import { failed, toast } from "../parts/Toast";
import { go, gone, href, query } from "../session/routes";
import { may } from "../session/session";
import { t } from "../words/words";
import { History } from "./history";
import { EventName, PersonName } from "./names";
import { sortedBy } from "./rows";
import { Shares } from "./Shares";

// in one file with this screen: a file for so little costs more than it saves
export { Sums } from "../grid/Sums";

interface Loaded {
  row: Row;
  etag: string | null;
}

export function RowScreen({ plural, id }: { plural: string; id: string }) {
  const entity = entityOf(plural);
  if (!entity) return <Forbidden />;
  if (id === "new") return entity.may.create ? <NewRow entity={entity} /> : <Forbidden />;
  return <OldRow entity={entity} id={id} />;
}

const listOf = (entity: Entity) => (entity.plural === TRAIL ? href("audit") : href("rows", entity.plural));

function Back({ entity }: { entity: Entity }) {
  return (
    <a class="crumb row" href={listOf(entity)}>
      <Icon name="arrow-left" />
      <bdi>{entityTitle(entity)}</bdi>
    </a>
  );
}

function NewRow({ entity }: { entity: Entity }) {
  const preset = Object.fromEntries(query.peek());
  return (
    <>
      <Back entity={entity} />
      <div class="head">
        <Title name={t("row.new")}>{t("row.new.title", { name: entity.name })}</Title>
      </div>
      <Form
        entity={entity}
        row={null}
        etag={null}
        preset={preset}
        saved={(row) => void go(href("rows", entity.plural, row.id), true)}
      />
    </>
  );
}

function OldRow({ entity, id }: { entity: Entity; id: string }) {
  // security: what an address names is a row of this entity and nothing else of the API
  const path = `/api/${entity.plural}/${encodeURIComponent(id)}`;
  const loaded = useLoaded<Loaded>(async () => {
    const isDeletedMeant = entity.has.softDelete && entity.may.delete;
    const query = isDeletedMeant ? new URLSearchParams({ includeDeleted: "true" }) : undefined;
    const reply = await call<Row>("GET", path, { exact: true, query });
    return { row: reply.data, etag: reply.etag };
  }, [path]);
  const [isApi, showApi] = useState(false);
  // the rows that this one links to are in its form
  const links = entity.fields.map((field) => field.kind === "links" && field.relation);
  const many = entity.relations.filter(({ many, name, target }) => many && !links.includes(name) && entityOf(target));
  const asked = query.value.get("tab") ?? "";
  // an address may name a tab that this entity does not have
  const related = many.find((relation) => relation.name === asked);
  const tab = related || (asked === "history" && entity.has.history) ? asked : "";
  const hasForm = entity.fields.some((field) => field.writable);
  return (
    <>
      <Back entity={entity} />
      <Ready loaded={loaded} isScreen>
        {({ row, etag }) => (
          <>
            <div class="head">
              <Title name={rowLabel(entity, row)} />
              {row.isDeleted === true && <span class="badge bad">{t("deleted")}</span>}
              <span class="space" />
              <button type="button" class="plain" onClick={() => showApi(true)}>
                <Icon name="code" />
                {t("api")}
              </button>
              <RowActions entity={entity} row={row} etag={etag} reload={loaded.reload} />
            </div>
            <div class="tabs" role="group" aria-label={t("row.tabs")}>
              <Tab name="" tab={tab} text={t("row.fields")} />
              {many.map((relation) => (
                <Tab key={relation.name} name={relation.name} tab={tab} text={relationTitle(relation)} />
              ))}
              {entity.has.history && <Tab name="history" tab={tab} text={t("history")} />}
            </div>
            {related ? (
              <Related key={tab} relation={related} row={row} />
            ) : tab === "history" ? (
              <History entity={entity} row={row} etag={etag} reverted={loaded.reload} />
            ) : (
              <div class={hasForm ? "columns wide-first" : ""}>
                {hasForm && (
                  <Form
                    entity={entity}
                    row={row}
                    etag={etag}
                    saved={(next, tag) => loaded.set({ row: next, etag: tag })}
                  />
                )}
                <Facts entity={entity} row={row} />
              </div>
            )}
            {isApi && <RowApi entity={entity} row={row} etag={etag} onClose={() => showApi(false)} />}
          </>
        )}
      </Ready>
    </>
  );
}

const relationTitle = (relation: Relation) => entityOf(relation.target)?.title ?? relation.name;

function Tab({ name, tab, text }: { name: string; tab: string; text: string }) {
  return (
    <a href={name ? `?tab=${encodeURIComponent(name)}` : "?"} aria-current={tab === name ? "page" : undefined}>
      <bdi>{text}</bdi>
    </a>
  );
}

/** What nobody writes: the service's own fields, and those that this caller may only read. */
function Facts({ entity, row }: { entity: Entity; row: Row }) {
  const isQuiet = (name: string) => name === "isDeleted" || (/^deleted(At|By)$/.test(name) && row[name] === null);
  const shown = entity.fields.filter(
    (field) => !field.writable && row[field.name] !== undefined && !isQuiet(field.name),
  );
  return (
    <section class="section" aria-label={t("row.facts")}>
      <dl class="facts small">
        {shown.map((field) => (
          <>
            <dt>
              <bdi>{titleOf(field)}</bdi>
            </dt>
            <dd>
              {/(By|actorId)$/.test(field.name) && row[field.name] ? (
                <PersonName id={String(row[field.name])} />
              ) : isAction(entity, field) ? (
                <EventName action={String(row[field.name])} isWhole />
              ) : (
                <Value field={field} value={row[field.name]} isWhole />
              )}
            </dd>
          </>
        ))}
      </dl>
    </section>
  );
}

interface ActionProps {
  entity: Entity;
  row: Row;
  etag: string | null;
  reload: () => Promise<void>;
}

function RowActions({ entity, row, etag, reload }: ActionProps) {
  const path = `/api/${entity.plural}/${row.id}`;
  const name = rowLabel(entity, row);
  const isDeleted = row.isDeleted === true;
  const [isSharing, setSharing] = useState(false);

  async function act(work: () => Promise<unknown>, text: string, leaves: boolean): Promise<void> {
    try {
      await work();
      toast(text);
      if (leaves) await gone("rows", entity.plural);
      else await reload();
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 404)) return failed(error);
      // deleted by somebody else: it is shown as it is now
      toast(t("row.gone"), true);
      await reload();
    }
  }

  async function remove(): Promise<void> {
    const text = entity.has.softDelete ? t("delete.soft") : t("delete.hard");
    if (!(await ask(t("delete.row", { name }), text, t("delete")))) return;
    const headers = etag ? { "If-Match": etag } : undefined;
    await act(() => call("DELETE", path, { headers }), t("delete.done", { count: 1 }), !entity.has.softDelete);
  }

  async function purge(): Promise<void> {
    if (!(await ask(t("purge.row", { name }), t("purge.text"), t("purge")))) return;
    await act(() => call("DELETE", path, { query: { permanent: "true" } }), t("deleted.purged", { count: 1 }), true);
  }

  return (
    <>
      {!isDeleted && entity.has.shares && may(`share:${entity.plural}`) && (
        <button type="button" onClick={() => setSharing(true)}>
          <Icon name="user-plus" />
          {t("share")}
        </button>
      )}
      {isSharing && <Shares entity={entity} row={row} onClose={() => setSharing(false)} />}
      {!isDeleted && entity.may.delete && (
        <button type="button" class="quiet-danger" onClick={() => void remove()}>
          <Icon name="trash-2" />
          {t("delete")}
        </button>
      )}
      {isDeleted && entity.may.delete && (
        <button
          type="button"
          onClick={() => void act(() => call("POST", `${path}/restore`), t("deleted.restored", { count: 1 }), false)}
        >
          <Icon name="undo-2" />
          {t("restore")}
        </button>
      )}
      {isDeleted && entity.may.purge && (
        <button type="button" class="quiet-danger" onClick={() => void purge()}>
          <Icon name="trash-2" />
          {t("purge")}
        </button>
      )}
    </>
  );
}

/** Rows of another entity that refer to this one. */
function Related({ relation, row }: { relation: Relation; row: Row }) {
  const entity = entityOf(relation.target)!;
  const [view, setView] = useState<View>(() => {
    const whole = readView(entity, new URLSearchParams());
    return { ...whole, columns: whole.columns.filter((name) => name !== relation.by) };
  });
  const pages = useMemo(() => new Pages(entity, view, [[relation.by, row.id]]), [entity, view, row.id]);
  useEffect(() => () => pages.close(), [pages]);
  const add = `${href("rows", entity.plural, "new")}?${new URLSearchParams({ [relation.by]: row.id })}`;
  return (
    <>
      <div class="tools">
        <a class="button" href={`${href("rows", entity.plural)}?${new URLSearchParams({ [relation.by]: row.id })}`}>
          {t("related.all")}
        </a>
        {entity.may.create && row.isDeleted !== true && (
          <a class="button" href={add}>
            <Icon name="plus" />
            {t("row.new")}
          </a>
        )}
      </div>
      <Grid
        pages={pages}
        view={view}
        isShort
        onSort={(field, isAdded) => setView({ ...view, sort: sortedBy(view, field, isAdded) })}
        empty={<Notice icon="inbox" title={t("related.none")} />}
      />
    </>
  );
}

function RowApi({
  entity,
  row,
  etag,
  onClose,
}: {
  entity: Entity;
  row: Row;
  etag: string | null;
  onClose: () => void;
}) {
  const path = `/api/${entity.plural}/${row.id}`;
  const field = entity.fields.find((candidate) => candidate.writable);
  const read = { title: t("api.read"), method: "GET", path };
  const change = field && {
    title: t("api.change"),
    method: "PATCH",
    path,
    headers: etag ? { "If-Match": etag } : undefined,
    json: { [field.name]: row[field.name] },
  };
  return <ApiDrawer onClose={onClose} examples={change && entity.may.update ? [read, change] : [read]} />;
}
