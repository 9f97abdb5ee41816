// What GET /api/entities says: the entities and areas that the caller may use. The console shows nothing else.
import { computed, signal } from "@preact/signals";
import { call } from "./api";

export type Kind =
  | "text"
  | "integer"
  | "bigInteger"
  | "decimal"
  | "float"
  | "boolean"
  | "timestamp"
  | "date"
  | "uuid"
  | "choice"
  | "uuids"
  | "texts"
  | "reference";

export interface Rules {
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  minimum?: number | string;
  maximum?: number | string;
  exclusiveMinimum?: number | string;
  exclusiveMaximum?: number | string;
  multipleOf?: number;
  precision?: number;
  scale?: number;
  choices?: string[];
}

export interface Field {
  name: string;
  title: string;
  kind: Kind;
  required: boolean;
  nullable: boolean;
  default?: unknown;
  writable: boolean;
  rules: Rules;
  operators: string[];
  sortable: boolean;
  indexed: boolean;
  help?: string | null;
  widget?: string | null;
  target?: string;
  relation?: string;
  targetDisplay?: string | null;
  onDelete?: string;
}

export interface Relation {
  name: string;
  title?: string;
  target: string;
  by: string;
  many: boolean;
}

export type Action = "create" | "read" | "update" | "delete" | "purge" | "import" | "export";

export interface Entity {
  plural: string;
  name: string;
  title: string;
  display: string | null;
  columns: string[];
  may: Record<Action, boolean>;
  has: { softDelete: boolean; history: boolean; changes: boolean; search: string[]; tenantOwned: boolean };
  sort: string;
  limits: { pageSize: number; batch: number };
  fields: Field[];
  relations: Relation[];
  unique: string[][];
}

export interface Meta {
  entities: Entity[];
  areas: string[];
}

export type Row = Record<string, unknown> & { id: string };

export const meta = signal<Meta | null>(null);
const byPlural = computed(() => new Map(meta.value?.entities.map((entity) => [entity.plural, entity]) ?? []));

export async function loadMeta(): Promise<void> {
  meta.value = (await call<Meta>("GET", "/api/entities")).data;
}

export const entityOf = (plural: string): Entity | undefined => byPlural.value.get(plural);
export const mayArea = (name: string): boolean => meta.value?.areas.includes(name) ?? false;
export const choicesOf = (field: Field): string[] => field.rules.choices ?? [];

/** The text by which a row is known: its display field, else the beginning of its id. */
export function rowLabel(entity: Entity | undefined, row: Row | null | undefined): string {
  if (!row) return "";
  const shown = entity?.display ? row[entity.display] : undefined;
  return shown === undefined || shown === null || shown === "" ? row.id.slice(0, 8) : String(shown);
}
