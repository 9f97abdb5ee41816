// The rows of an entity: search, filters, the grid, and what is done with the selected ones.
import { useComputed } from "@preact/signals";
import { useEffect, useMemo, useState } from "preact/hooks";
import { readable } from "../api/api";
import { type Entity, entityOf, type Row, scope } from "../api/meta";
import { ExportDialog } from "../files/Export";
import { ApiDrawer } from "../grid/ApiDrawer";
import { Bulk, Selection } from "../grid/bulk";
import { entityTitle } from "../grid/cells";
import { ColumnsMenu } from "../grid/columns";
import { AddFilter, Chips, Mine, RawQuery } from "../grid/filters";
import { Grid } from "../grid/Grid";
import { linkOf } from "../grid/keys";
import { Pages } from "../grid/pages";
import { apiQuery, askedOf, keepLayout, pageQuery, readKeptView, type View } from "../grid/view";
import { ViewsMenu } from "../grid/views";
import { Icon } from "../parts/Icon";
import { lazy } from "../parts/lazy";
import { Menu } from "../parts/Menu";
import { Forbidden, Notice } from "../parts/States";
import { Find } from "../parts/Table";
import { Title } from "../parts/Title";
import { arrival, current, go, hereWith, href, mayLeave, query, ROW, ROW_TAB } from "../session/routes";
import { t } from "../words/words";

const Sums = lazy(async () => (await import("./row")).Sums);
const RowPanel = lazy(async () => (await import("./row")).RowPanel);

export function RowsScreen({ plural }: { plural: string }) {
  const entity = entityOf(plural);
  const isDeletedAsked = query.value.get("includeDeleted") === "true";
  if (!entity || (isDeletedAsked && !maySeeDeleted(entity))) return <Forbidden />;
  return <Rows key={`${plural} ${scope.value?.id}`} entity={entity} />;
}

const maySeeDeleted = ({ has, may }: Entity) => has.softDelete && may.delete;

function Rows({ entity }: { entity: Entity }) {
  // the row beside the grid is not of its view: rows are not read again with it
  const search = useComputed(() => readable(viewPart(query.value))).value;
  const openId = query.value.get(ROW) ?? undefined;
  const view = useMemo(() => readKeptView(entity, new URLSearchParams(search)), [entity, search]);
  const asked = askedOf(entity, view);
  const [again, setAgain] = useState(0);
  const [shown, show] = useState<"api" | "export" | null>(null);
  const pages = useMemo(() => new Pages(entity, view), [entity, asked, again]);
  const selection = useMemo(() => new Selection(entity.limits.batch), [entity]);
  useEffect(() => () => pages.close(), [pages]);
  useEffect(() => selection.clear(), [asked]);

  const sums = useSums(entity);

  const reload = () => setAgain((count) => count + 1);
  const change = (part: Partial<View>) => {
    const isLayout = "columns" in part || "pinned" in part || "widths" in part;
    if (isLayout) keepLayout(entity, { ...view, ...part });
    const next = pageQuery(entity, { ...view, ...part });
    for (const name of [ROW, ROW_TAB]) if (query.peek().has(name)) next.set(name, query.peek().get(name) ?? "");
    const text = readable(next);
    void go(current.peek().path + (text && `?${text}`), isLayout);
  };
  const base = href("rows", entity.plural);
  const isFiltered = view.filters.length > 0 || view.search !== "";
  return (
    <>
      <div class="head">
        <Title name={view.deleted ? t("deleted") : undefined}>
          <bdi>{entityTitle(entity)}</bdi>
          {view.deleted && <span class="muted"> · {t("deleted")}</span>}
        </Title>
        {entity.own.includes("read") && <span class="small muted">{t("own.read")}</span>}
        <span class="space" />
        <button type="button" class="plain" onClick={() => show("api")}>
          <Icon name="code" />
          {t("api")}
        </button>
        <MoreMenu entity={entity} view={view} change={change} show={show} />
        {entity.may.create && !view.deleted && (
          <a class="button primary" href={`${base}/new`}>
            <Icon name="plus" />
            {t("row.new")}
          </a>
        )}
      </div>
      <div class="tools">
        {entity.has.search.length > 0 && <Search view={view} change={change} />}
        <Mine entity={entity} view={view} change={change} />
        <AddFilter entity={entity} view={view} change={change} />
        <span class="space" />
        <ColumnsMenu entity={entity} view={view} change={change} />
        <ViewsMenu entity={entity} view={view} />
        <button type="button" class="square" title={t("reload")} aria-label={t("reload")} onClick={reload}>
          <Icon name="refresh-cw" />
        </button>
      </div>
      {isFiltered && (
        <div class="chips">
          <Chips entity={entity} view={view} change={change} />
          <button type="button" class="link" onClick={() => change({ filters: [], search: "" })}>
            {t("filter.clear")}
          </button>
        </div>
      )}
      <Bulk entity={entity} selection={selection} deleted={view.deleted} done={reload} />
      <div class="split">
        <div class="list">
          <Grid
            pages={pages}
            view={view}
            selection={entity.may.update || entity.may.delete ? selection : undefined}
            onSort={(sort) => change({ sort })}
            empty={<Empty entity={entity} isFiltered={isFiltered} view={view} change={change} />}
            foot={<SumsButton sums={sums} />}
            open={openRow}
            openId={openId}
            onLayout={change}
          />
          {sums.group !== null && pages.total.value !== 0 && (
            <Sums key={again} entity={entity} view={view} group={sums.group} choose={sums.choose} />
          )}
        </div>
        {openId && (
          <RowPanel
            entity={entity}
            id={openId}
            step={(by) => step(pages, openId, by)}
            changed={() => void pages.renew(openId).catch(() => undefined)}
            left={reload}
          />
        )}
      </div>
      {shown === "api" && (
        <ApiDrawer
          onClose={() => show(null)}
          examples={[
            { title: t("api.view"), method: "GET", path: `/api/${entity.plural}`, query: apiQuery(view) },
            { title: t("api.page"), method: "GET", path: `/api/${entity.plural}`, query: pages.query(1) },
            {
              title: t("api.export"),
              method: "GET",
              path: `/api/${entity.plural}/export`,
              query: new URLSearchParams([...apiQuery(view), ["format", "csv"]]),
            },
          ]}
        >
          <RawQuery entity={entity} view={view} change={change} />
        </ApiDrawer>
      )}
      {shown === "export" && <ExportDialog entity={entity} view={view} onClose={() => show(null)} />}
    </>
  );

  /** Beside the grid where there is room, else as a page. */
  async function openRow(row: Row, isEntered: boolean): Promise<void> {
    if (!matchMedia(ROOM).matches) return void go(linkOf(entity, row));
    const isOpen = query.peek().has(ROW);
    if (query.peek().get(ROW) !== row.id && !(await mayLeave())) return;
    arrival.isNew = isEntered;
    // the way back closes the row, however many were looked at
    await go(hereWith({ [ROW]: row.id }), isOpen);
  }

  function step(pages: Pages, id: string, by: number): void {
    const index = pages.indexOf(id);
    const row = index < 0 ? undefined : pages.row(index + by);
    if (row) void openRow(row, false);
  }
}

/** A window that has room for a row beside the grid. */
const ROOM = "(min-width: 1100px)";

/** The part of the address that the view is made of. */
function viewPart(asked: URLSearchParams): URLSearchParams {
  return new URLSearchParams([...asked].filter(([name]) => name !== ROW && name !== ROW_TAB));
}

/** The group of the sums below the grid, "" without a chart, null while they are closed; the browser remembers it. */
function useSums({ plural }: Entity) {
  const place = `tenantry.sums.${plural}`;
  const [group, setGroup] = useState(localStorage.getItem(place));
  const choose = (next: string | null) => {
    setGroup(next);
    if (next === null) localStorage.removeItem(place);
    else localStorage.setItem(place, next);
  };
  return { group, choose };
}

function SumsButton({ sums }: { sums: ReturnType<typeof useSums> }) {
  const isOpen = sums.group !== null;
  return (
    <button type="button" class="link" aria-expanded={isOpen} onClick={() => sums.choose(isOpen ? null : "")}>
      <Icon name="sigma" />
      {t("sums")}
    </button>
  );
}

interface Change {
  view: View;
  change: (part: Partial<View>) => void;
}

function Search({ view, change }: Change) {
  const [text, setText] = useState(view.search);
  useEffect(() => setText(view.search), [view.search]);
  useEffect(() => {
    if (text === view.search) return;
    const timer = setTimeout(() => change({ search: text }), 250);
    return () => clearTimeout(timer);
  }, [text]);
  return <Find value={text} change={setText} />;
}

interface MoreProps extends Change {
  entity: Entity;
  show: (what: "export") => void;
}

function MoreMenu({ entity, view, change, show }: MoreProps) {
  const mayDeleted = maySeeDeleted(entity);
  // what is imported is not among the deleted rows
  const mayImport = entity.may.import && !view.deleted;
  if (!mayImport && !entity.may.export && !mayDeleted) return null;
  return (
    <Menu label={t("more")} icon="ellipsis" hideText>
      {(close) => (
        <div class="menu">
          {mayImport && (
            <button type="button" onClick={() => (close(), void go(href("rows", entity.plural, "import")))}>
              <Icon name="upload" />
              {t("import")}
            </button>
          )}
          {entity.may.export && (
            <button type="button" onClick={() => (close(), show("export"))}>
              <Icon name="download" />
              {t("export")}
            </button>
          )}
          {mayDeleted && (
            <button type="button" onClick={() => (close(), change({ deleted: !view.deleted }))}>
              <Icon name={view.deleted ? "undo-2" : "trash-2"} />
              {view.deleted ? t("deleted.hide") : t("deleted.show")}
            </button>
          )}
        </div>
      )}
    </Menu>
  );
}

function Empty({ entity, isFiltered, view, change }: Change & { entity: Entity; isFiltered: boolean }) {
  if (isFiltered)
    return (
      <Notice icon="search" title={t("grid.nomatch")} text={t("grid.nothing.text")}>
        <button type="button" onClick={() => change({ filters: [], search: "" })}>
          {t("filter.clear")}
        </button>
      </Notice>
    );
  if (view.deleted) return <Notice icon="trash-2" title={t("deleted.none")} />;
  const base = href("rows", entity.plural);
  return (
    <Notice icon="inbox" title={t("grid.empty")} text={entity.may.create ? t("grid.empty.text") : undefined}>
      {entity.may.create && (
        <a class="button primary" href={`${base}/new`}>
          {t("row.new")}
        </a>
      )}
      {entity.may.import && (
        <a class="button" href={`${base}/import`}>
          {t("import")}
        </a>
      )}
    </Notice>
  );
}
