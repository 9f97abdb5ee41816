// A value as a cell, a history or a conflict shows it. Every text is isolated by <bdi>; only http(s) and mailto link.
import type { ComponentChildren } from "preact";
import { choiceOf, type Entity, entityOf, type Field, isFile, MEMBERS, type Row, rowLabel, TRAIL } from "../api/meta";
import { useRowNames } from "../forms/reference";
import { Icon } from "../parts/Icon";
import { EventName, PersonName, RowName, rowHref, TenantName, Unseen } from "../screens/names";
import { date, exactTime, type Key, number, t, time } from "../words/words";
import { Files } from "./files";
import { PEOPLE } from "./kinds";

const NUMBERS = new Set(["integer", "bigInteger", "decimal", "float"]);
const LONGEST = 300;
export const isNumber = (field: Field) => NUMBERS.has(field.kind);

/** Fields that the service keeps by itself, which the console names in its own language. */
const KEPT = new Set([
  ...["id", "version", "createdAt", "createdBy", "updatedAt", "updatedBy", "isDeleted", "deletedAt", "deletedBy"],
  ...["tenantId", "occurredAt", "action", "actorId", "targetId", "address", "requestId"],
]);

/** The title that the service makes of a name: `createdAt` is "Created at". */
const plainTitle = (name: string) =>
  name.charAt(0).toUpperCase() + name.slice(1).replace(/[A-Z]/g, (char) => ` ${char.toLowerCase()}`);

/** The title of a column; the service's own fields are called by name where nobody gave a title. */
export function titleOf(field: Field): string {
  if (field.kind === "tenant") return t("tenant");
  if (/^(links|attachments?)$/.test(field.kind) && field.relation && field.title === plainTitle(field.name))
    return plainTitle(field.relation);
  const isOwn = KEPT.has(field.name) && !field.writable && field.title === plainTitle(field.name);
  return isOwn ? t(`kept.${field.name}` as Key) : field.title || field.name;
}

/** Entities of the service, which the console names in its own language. */
const OWN = new Map<string, Key>([
  [TRAIL, "audit"],
  ["applications", "applications"],
  [MEMBERS, "members"],
]);

/** The title of an entity as it was declared; empty without one. */
export function entityTitle(entity: Entity | undefined): string {
  const own = OWN.get(entity?.plural ?? "");
  return own ? t(own) : (entity?.title ?? "");
}

/** Whether the field of a row holds an action of the audit trail. */
export const isAction = (entity: Entity, field: Field) => entity.plural === TRAIL && field.name === "action";

interface CellProps {
  entity: Entity;
  field: Field;
  row: Row;
  /** Without links: the first cell is one itself, to its row. */
  isPlain?: boolean;
}

export function Cell({ entity, field, row, isPlain }: CellProps) {
  const value = row[field.name];
  if (isAction(entity, field) && typeof value === "string") return <EventName action={value} />;
  if (field.kind === "reference" && field.relation && value) {
    const related = row[field.relation] as Row | null | undefined;
    const target = field.target ? entityOf(field.target) : undefined;
    if (related && target && isPlain) return <bdi>{rowLabel(target, related)}</bdi>;
    if (related && target)
      return (
        <a
          class="badge ref"
          href={rowHref(target, related.id)}
          tabIndex={-1}
          data-peek={`${target.plural} ${related.id}`}
        >
          <RowName target={target} name={rowLabel(target, related)} />
        </a>
      );
  }
  if (field.kind === "links" && field.relation && Array.isArray(row[field.relation])) {
    const target = field.target ? entityOf(field.target) : undefined;
    return <Words words={(row[field.relation] as Row[]).map((linked) => rowLabel(target, linked))} />;
  }
  if (isFile(field) && field.relation && row[field.relation]) return <Files entity={entity} field={field} row={row} />;
  if (field.kind === "tenant" && typeof value === "string") return <TenantName id={value} />;
  if (PEOPLE.test(field.name) && typeof value === "string")
    return <PersonName id={value} tabIndex={-1} isPlain={isPlain} />;
  return <Value field={isPlain ? { ...field, widget: null } : field} value={value} />;
}

export function Value({
  field,
  value,
  isWhole,
}: {
  field?: Field;
  value: unknown;
  isWhole?: boolean;
}): ComponentChildren {
  if (value === null || value === undefined || value === "")
    return <span class="muted">{isWhole ? t("value.none") : ""}</span>;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  switch (field?.kind) {
    case "boolean":
      return value ? <Icon name="check" label={t("yes")} /> : <Icon name="minus" label={t("no")} class="muted" />;
    case "decimal":
      return number(text, field.rules.scale ?? undefined);
    case "integer":
    case "bigInteger":
    case "float":
      return field.kind === "float" ? text : number(text);
    case "timestamp":
      return (
        <time dateTime={text} title={exactTime(text)}>
          {time(text)}
        </time>
      );
    case "date":
      return <time dateTime={text}>{date(text)}</time>;
    case "choice":
      return <Choice field={field} value={text} />;
    case "reference":
      return <Reference field={field} id={text} isWhole={isWhole} />;
    case "uuid":
    case "attachment":
      return <code title={text}>{isWhole ? text : text.slice(0, 13)}</code>;
    case "links":
      return <Linked field={field} ids={value as string[]} isWhole={isWhole} />;
    case "texts":
    case "uuids":
    case "attachments":
      return <Words words={value as string[]} />;
    default:
      return <Text field={field} text={text} isWhole={isWhole} />;
  }
}

/** A value of a choice: its label, behind a dot in its colour. */
function Choice({ field, value }: { field: Field; value: string }) {
  const { label, color } = choiceOf(field, value);
  return (
    <bdi class={`badge choice ${color}`} title={label === value ? undefined : value}>
      {label}
    </bdi>
  );
}

/** A row by its id. What is shown as a whole is of one row: there its name is read, and cells have it beside them. */
function Reference({ field, id, isWhole }: { field: Field; id: string; isWhole?: boolean }) {
  const target = field.target ? entityOf(field.target) : undefined;
  const name = useRowNames(isWhole ? target : undefined, [id]).get(id);
  if (!target) return <Unseen id={id} />;
  return name ? <bdi title={id}>{name}</bdi> : <code title={id}>{isWhole ? id : id.slice(0, 13)}</code>;
}

function Linked({ field, ids, isWhole }: { field: Field; ids: string[]; isWhole?: boolean }) {
  const names = useRowNames(isWhole && field.target ? entityOf(field.target) : undefined, ids);
  return <Words words={ids.map((id) => names.get(id) ?? id.slice(0, 13))} />;
}

const Words = ({ words }: { words: string[] }) => (
  <>
    {words.map((word, index) => (
      <bdi key={index} class="badge">
        {word}
      </bdi>
    ))}
  </>
);

function Text({ field, text, isWhole }: { field?: Field; text: string; isWhole?: boolean }) {
  const shown = !isWhole && text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
  const link = field?.widget === "url" ? safeLink(text) : null;
  if (link)
    return (
      <a href={link} target="_blank" rel="noopener noreferrer" tabIndex={isWhole ? 0 : -1}>
        <bdi>{shown}</bdi>
      </a>
    );
  return <bdi>{shown}</bdi>;
}

/** The address if it may be followed: http, https or mailto, and never `javascript:`. */
export function safeLink(text: string): string | null {
  try {
    const url = new URL(text);
    return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}
