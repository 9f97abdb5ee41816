// What a grid shows, as the address has it: the API's own grammar, and `~columns`, `~pinned` for the console alone.
import { choicesOf, type Entity, entityOf, type Field, isFile } from "../api/meta";
import { ROW, ROW_TAB } from "../session/routes";
import { tenantId } from "../session/tokens";

/** Bounds of the width of a column, in pixels. */
export const NARROWEST = 64;
export const WIDEST = 900;

export interface View {
  search: string;
  sort: [field: string, direction: "asc" | "desc"][];
  /** Filters as the API spells them: ["price.gte", "10"], ["category.name.contains", "lamp"]. */
  filters: [key: string, value: string][];
  deleted: boolean;
  columns: string[];
  pinned: number;
  /** Widths in pixels that somebody chose, by column. */
  widths: Record<string, number>;
}

/** What a grid shows of a view, and how; the rows do not depend on it. */
export type Layout = Partial<Pick<View, "columns" | "pinned" | "widths">>;

const COLUMNS = "~columns";
const PINNED = "~pinned";
const WIDTHS = "~widths";
const LAYOUT = [COLUMNS, PINNED, WIDTHS];
const OWN = new Set(["search", "sort", "includeDeleted", ...LAYOUT, ROW, ROW_TAB]);
const DELETED = "isDeleted";

const placeOf = (entity: Entity) => `tenantry.layout.${tenantId.peek()}.${entity.plural}`;

/** Keeps the layout in this browser: it is that of the list when its address says nothing. */
export function keepLayout(entity: Entity, view: View): void {
  const kept = new URLSearchParams([...pageQuery(entity, view)].filter(([name]) => LAYOUT.includes(name)));
  if (kept.size) localStorage.setItem(placeOf(entity), kept.toString());
  else localStorage.removeItem(placeOf(entity));
}

/** The view of an address; one that says nothing has the layout of the last time. */
export const readKeptView = (entity: Entity, query: URLSearchParams): View =>
  readView(entity, query.size ? query : new URLSearchParams(localStorage.getItem(placeOf(entity)) ?? ""));

export function readView(entity: Entity, query: URLSearchParams): View {
  const known = new Set(entity.fields.map((field) => field.name));
  const asked = (query.get(COLUMNS) ?? "").split(",").filter((name) => known.has(name));
  const deleted = query.get("includeDeleted") === "true";
  return {
    search: query.get("search") ?? "",
    sort: sortOf(query.get("sort") ?? ""),
    filters: [...query].filter(([key, value]) => !OWN.has(key) && !(deleted && key === DELETED) && value !== ""),
    deleted,
    columns: asked.length ? asked : defaultColumns(entity),
    pinned: Number(query.get(PINNED) ?? 1) || 0,
    widths: readWidths(query.get(WIDTHS) ?? "", known),
  };
}

/** Widths as an address has them: `name:220,sku:90`. */
function readWidths(text: string, known: ReadonlySet<string>): View["widths"] {
  const pairs = text.split(",").map((pair) => pair.split(":"));
  const widths = pairs.map(([name = "", width]) => [name, Math.round(Number(width))] as const);
  return Object.fromEntries(
    widths
      .filter(([name, width]) => known.has(name) && width > 0)
      .map(([name, width]) => [name, Math.min(WIDEST, Math.max(NARROWEST, width))]),
  );
}

/** The declared columns, with the one first that names a row: it is the link to the row. */
export function defaultColumns(entity: Entity): string[] {
  const { columns, display } = entity;
  return display && columns.includes(display) ? [display, ...columns.filter((name) => name !== display)] : columns;
}

function sortOf(text: string): View["sort"] {
  const keys = text
    .split(",")
    .filter(Boolean)
    .map((key) => key.split(":"));
  return keys.map(([field, direction]) => [field ?? "", direction === "desc" ? "desc" : "asc"]);
}

/** The part that the API understands. */
export function apiQuery(view: View): URLSearchParams {
  const query = new URLSearchParams();
  if (view.search) query.set("search", view.search);
  for (const [key, value] of view.filters) query.append(key, value);
  if (view.sort.length) query.set("sort", view.sort.map((key) => key.join(":")).join(","));
  if (view.deleted) {
    query.set("includeDeleted", "true");
    query.set(DELETED, "true");
  }
  return query;
}

export function pageQuery(entity: Entity, view: View): URLSearchParams {
  const query = apiQuery(view);
  if (view.columns.join() !== defaultColumns(entity).join()) query.set(COLUMNS, view.columns.join(","));
  if (view.pinned !== 1) query.set(PINNED, String(view.pinned));
  const widths = Object.entries(view.widths).map(([name, width]) => `${name}:${width}`);
  if (widths.length) query.set(WIDTHS, widths.join());
  return query;
}

/** Properties to ask for: the columns, and what selecting and linking a row needs. */
export function fieldsOf(entity: Entity, view: View): string {
  const has = new Set(entity.fields.map((field) => field.name));
  const needed = ["version", DELETED, entity.display ?? ""].filter((name) => has.has(name));
  return [...new Set([...askedColumns(entity, view), ...needed])].filter((name) => name !== "id").join(",");
}

/** The columns without that of the tenant, which comes unasked. */
export function askedColumns(entity: Entity, view: View): string[] {
  const unasked = new Set(entity.fields.filter((field) => field.kind === "tenant").map((field) => field.name));
  return view.columns.filter((name) => !unasked.has(name));
}

/** What the rows of a view depend on: neither the order nor the widths of its columns. */
export const askedOf = (entity: Entity, view: View): string =>
  [apiQuery(view), fieldsOf(entity, view).split(",").sort(), view.deleted].join(" ");

/** Relations whose rows are shown by name: those of visible columns that the caller may read. */
export function includesOf(entity: Entity, columns: string[]): string {
  const shown = entity.fields.filter((field) => columns.includes(field.name));
  return shown
    .filter((field) => isFile(field) || named(field))
    .map((field) => field.relation)
    .join(",");
}

const named = (field: Field) => field.relation && field.target && field.targetDisplay && entityOf(field.target);

/** The field that a filter's key begins with, the operator behind it, and what lies between: a relation's property. */
export function readFilter(entity: Entity, key: string): { field: Field | undefined; operator: string } {
  const dot = key.lastIndexOf(".");
  const [name, operator] = dot < 0 ? [key, "eq"] : [key.slice(0, dot), key.slice(dot + 1)];
  return { field: entity.fields.find((field) => field.name === name), operator };
}

export const hasChoices = (field: Field) => field.kind === "choice" || choicesOf(field).length > 0;

/** The next order of a column: ascending, descending, none. With Shift the column is added to those before. */
export function sortedBy(view: View, field: Field, isAdded: boolean): View["sort"] {
  const before = view.sort.find(([name]) => name === field.name)?.[1];
  const others = isAdded ? view.sort.filter(([name]) => name !== field.name) : [];
  if (before === "desc") return others;
  return [...others, [field.name, before === "asc" ? "desc" : "asc"]];
}
