// A row, as a page or beside the grid: its form, its related rows and its history in tabs.
import { useState } from "preact/hooks";
import { call } from "../api/api";
import { type Entity, entityOf, isFile, type Row, rowLabel, TRAIL } from "../api/meta";
import { Form } from "../forms/Form";
import { Input } from "../forms/inputs";
import { heldValue } from "../forms/values";
import { ApiDrawer } from "../grid/ApiDrawer";
import { entityTitle, isAction, titleOf, Value } from "../grid/cells";
import { linkOf } from "../grid/keys";
import { Icon } from "../parts/Icon";
import { Forbidden, Ready, useLoaded } from "../parts/States";
import { Title } from "../parts/Title";
import { go, gone, hereWith, href, query, ROW, ROW_TAB } from "../session/routes";
import { t } from "../words/words";
import { History } from "./history";
import { Theirs, useLiveRow } from "./liveRow";
import { EventName, PersonName } from "./names";
import { Related, relatedOf, relationTitle } from "./related";
import { COPY, copied, RowActions } from "./rowActions";

// in one file with this screen: a file for so little costs more than it saves
export { Sums } from "../grid/Sums";

export function RowScreen({ plural, id }: { plural: string; id: string }) {
  const entity = entityOf(plural);
  if (!entity) return <Forbidden />;
  if (id === "new") return entity.may.create ? <NewRow entity={entity} /> : <Forbidden />;
  return (
    <>
      <Back entity={entity} />
      <OldRow entity={entity} id={id} />
    </>
  );
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

/** What an address names is a row of this entity and nothing else of the API. */
const pathOf = (entity: Entity, id: string) => `/api/${entity.plural}/${encodeURIComponent(id)}`;

function NewRow({ entity }: { entity: Entity }) {
  const asked = Object.fromEntries(query.peek());
  const copiedId = asked[COPY];
  const preset = useLoaded<Record<string, unknown>>(async () => {
    if (!copiedId) return asked;
    return copied(entity, (await call<Row>("GET", pathOf(entity, copiedId), { exact: true })).data);
  }, [copiedId]);
  const form = (values: Record<string, unknown>) => (
    <Form
      entity={entity}
      row={null}
      etag={null}
      preset={values}
      saved={(row) => void go(href("rows", entity.plural, row.id), true)}
    />
  );
  return (
    <>
      <Back entity={entity} />
      <div class="head">
        <Title name={t("row.new")}>{t("row.new.title", { name: entity.name })}</Title>
      </div>
      {copiedId ? <Ready loaded={preset}>{form}</Ready> : form(asked)}
    </>
  );
}

interface BesideProps {
  entity: Entity;
  id: string;
  /** Shows the next row of the grid, or the one before it. */
  step: (by: number) => void;
  /** The row was changed, and the grid shows it as it is now. */
  changed: () => void;
  /** The row is gone. */
  left: () => void;
}

const CONTROLS = "input, select, textarea, [role=grid], [role=combobox], [role=listbox], dialog";

/** A row beside the grid, which stays. Escape closes it; up and down lead to its neighbours. */
export function RowPanel({ entity, id, step, changed, left }: BesideProps) {
  async function close(): Promise<void> {
    if (await go(hereWith({ [ROW]: null, [ROW_TAB]: null })))
      document.querySelector<HTMLElement>("main .list [role=grid]")?.focus({ preventScroll: true });
  }
  function onKeyDown(event: KeyboardEvent): void {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const isTyping = (event.target as Element).closest(CONTROLS);
    if (event.key === "Escape" && !(event.target as Element).closest("dialog, [aria-expanded=true]")) void close();
    else if (!isTyping && (event.key === "ArrowDown" || event.key === "ArrowUp"))
      step(event.key === "ArrowDown" ? 1 : -1);
    else return;
    event.preventDefault();
  }
  return (
    <aside class="beside-grid" aria-label={entity.name} onKeyDown={onKeyDown}>
      <div class="row panel-tools">
        <button type="button" class="plain square" aria-label={t("row.previous")} onClick={() => step(-1)}>
          <Icon name="chevron-up" />
        </button>
        <button type="button" class="plain square" aria-label={t("row.next")} onClick={() => step(1)}>
          <Icon name="chevron-down" />
        </button>
        <span class="space" />
        <a class="button plain square" aria-label={t("row.page")} title={t("row.page")} href={linkOf(entity, { id })}>
          <Icon name="maximize-2" />
        </a>
        <button type="button" class="plain square" aria-label={t("close")} onClick={() => void close()}>
          <Icon name="x" />
        </button>
      </div>
      <OldRow key={id} entity={entity} id={id} beside={{ changed, left: () => (left(), void close()) }} />
    </aside>
  );
}

interface OldProps {
  entity: Entity;
  id: string;
  beside?: Pick<BesideProps, "changed" | "left">;
}

function OldRow({ entity, id, beside }: OldProps) {
  const path = pathOf(entity, id);
  const { loaded, theirs } = useLiveRow(entity, id, async () => {
    const isDeletedMeant = entity.has.softDelete && entity.may.delete;
    const query = isDeletedMeant ? new URLSearchParams({ includeDeleted: "true" }) : undefined;
    const reply = await call<Row>("GET", path, { exact: true, query });
    return { row: reply.data, etag: reply.etag };
  });
  const [isApi, showApi] = useState(false);
  const parameter = beside ? ROW_TAB : "tab";
  const many = relatedOf(entity);
  const asked = query.value.get(parameter) ?? "";
  // an address may name a tab that this entity does not have
  const related = many.find((relation) => relation.name === asked);
  const tab = related || (asked === "history" && entity.has.history) ? asked : "";
  const hasForm = entity.fields.some((field) => field.writable);
  const reload = async () => {
    await loaded.reload();
    beside?.changed();
  };
  const leave = async () => {
    if (!beside) return gone("rows", entity.plural);
    beside.left();
  };
  return (
    <Ready loaded={loaded} isScreen={!beside}>
      {({ row, etag }) => (
        <>
          <div class="head of-row">
            <Title name={rowLabel(entity, row)} isPart={!!beside} />
            {row.isDeleted === true && <span class="badge bad">{t("deleted")}</span>}
            <span class="space" />
            <button
              type="button"
              class={beside ? "plain square" : "plain"}
              aria-label={t("api")}
              title={t("api")}
              onClick={() => showApi(true)}
            >
              <Icon name="code" />
              {!beside && t("api")}
            </button>
            <RowActions entity={entity} row={row} etag={etag} reload={reload} leave={leave} />
          </div>
          <Theirs entity={entity} change={theirs} />
          <div class="tabs" role="group" aria-label={t("row.tabs")}>
            <Tab parameter={parameter} name="" tab={tab} text={t("row.fields")} />
            {many.map((relation) => (
              <Tab
                key={relation.name}
                parameter={parameter}
                name={relation.name}
                tab={tab}
                text={relationTitle(relation, many)}
              />
            ))}
            {entity.has.history && <Tab parameter={parameter} name="history" tab={tab} text={t("history")} />}
          </div>
          {related ? (
            <Related key={tab} relation={related} row={row} />
          ) : tab === "history" ? (
            <History entity={entity} row={row} etag={etag} reverted={reload} />
          ) : (
            <div class={hasForm ? "columns wide-first" : ""}>
              {hasForm && (
                <Form
                  entity={entity}
                  row={row}
                  etag={etag}
                  saved={(next, tag) => {
                    loaded.set({ row: next, etag: tag });
                    beside?.changed();
                  }}
                />
              )}
              <Facts entity={entity} row={row} />
            </div>
          )}
          {isApi && <RowApi entity={entity} row={row} etag={etag} onClose={() => showApi(false)} />}
        </>
      )}
    </Ready>
  );
}

interface TabProps {
  parameter: string;
  name: string;
  tab: string;
  text: string;
}

function Tab({ parameter, name, tab, text }: TabProps) {
  return (
    <a href={hereWith({ [parameter]: name || null })} aria-current={tab === name ? "page" : undefined}>
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
              ) : isFile(field) ? (
                <Input
                  of={{ entity, row }}
                  field={field}
                  value={heldValue(field, row[field.name])}
                  change={() => {}}
                  disabled
                />
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
