// What GET /api/entities says: the entities and areas that the caller may use. The console shows nothing else.

import { computed, signal } from "@preact/signals";
import { eventText } from "../words/events";
import { call } from "./api";
import type { EntityDescription, EntityList, EntityRights, FieldDescription, RelationDescription } from "./types";

/** A field as the service describes it; `tenant` is the console's own, for rows of all tenants. */
export type Field = Omit<FieldDescription, "rules" | "help" | "widget"> &
  Rules &
  Partial<Pick<FieldDescription, "help" | "widget">>;
/** Bounds of decimals and integers beyond 2^53 are texts, as their values are. */
interface Rules {
  rules: Omit<FieldDescription["rules"], Bound> & Partial<Record<Bound, number | string>>;
}
type Bound = "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum";
export type Relation = RelationDescription;
export type Entity = Omit<EntityDescription, "fields"> & { fields: Field[] };
export type Meta = Omit<EntityList, "entities"> & { entities: Entity[] };
export type Action = keyof EntityRights;

export type Row = Record<string, unknown> & { id: string };

export const meta = signal<Meta | null>(null);

/** The id that stands for every tenant at once: read, and never written. */
export const EVERY = "all";
/** A super-admin's other tenant, or EVERY: sent as X-Tenant-Scope with every request about rows. */
export const scope = signal<{ id: string; name: string } | null>(null);

const byPlural = computed(() => {
  const isEvery = scope.value?.id === EVERY;
  const shown = (entity: Entity) => (isEvery ? ofEveryTenant(entity) : entity);
  return new Map(meta.value?.entities.map((entity) => [entity.plural, shown(entity)]) ?? []);
});

/** Over all tenants rows are read alone, and say whose they are. */
function ofEveryTenant(entity: Entity): Entity {
  const no = { create: false, update: false, delete: false, purge: false, import: false };
  const may = { ...entity.may, ...no };
  if (!entity.has.tenantOwned || entity.fields.some((field) => field.name === TENANT)) return { ...entity, may };
  const [first, ...others] = entity.columns;
  return { ...entity, may, fields: [...entity.fields, WHOSE], columns: [...(first ? [first] : []), TENANT, ...others] };
}

const TENANT = "tenantId";
const WHOSE: Field = {
  name: TENANT,
  title: "",
  kind: "tenant",
  required: false,
  nullable: false,
  default: null,
  writable: false,
  rules: {},
  operators: [],
  sortable: false,
  indexed: false,
};

export async function loadMeta(): Promise<void> {
  const { entities, ...others } = (await call<Meta>("GET", "/api/entities")).data;
  meta.value = {
    ...others,
    entities: entities.map((entity) => ({ ...entity, fields: entity.fields.map(asReference) })),
  };
}

/** A member is chosen and shown as the row of another entity is. */
const asReference = (field: Field): Field => (field.kind === "member" ? { ...field, kind: "reference" } : field);

export const entityOf = (plural: string): Entity | undefined => byPlural.value.get(plural);
export const mayArea = (name: string): boolean => meta.value?.areas.includes(name) ?? false;
export const choicesOf = (field: Field): string[] => field.rules.choices ?? [];
/** Whether the field holds files; inputs of other kinds take no files. */
export const isFile = (field: Field) => /^attachments?$/.test(field.kind);
/** The label and the colour of a value of a choice. */
export const choiceOf = (field: Field | undefined, value: string) =>
  field?.choices?.find((choice) => choice.value === value) ?? { value, label: value, color: "grey" };

/** The entity of the people of the tenant. */
export const MEMBERS = "members";
/** The value of a filter on people that means the caller. */
export const ME = "me";

/** The entity of the audit trail, whose rows are known by actions. */
export const TRAIL = "audit-events";

/** The text by which a row is known: its display field, else the beginning of its id. */
export function rowLabel(entity: Entity | undefined, row: Row | null | undefined): string {
  if (!row) return "";
  const shown = entity?.display ? row[entity.display] : undefined;
  if (shown === undefined || shown === null || shown === "") return row.id.slice(0, 8);
  return entity?.plural === TRAIL ? eventText(String(shown)) : String(shown);
}
