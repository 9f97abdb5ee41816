// Filter chips, the form that adds one from the operators of a field, and the query as the API spells it.
import { h } from "preact";
import { useState } from "preact/hooks";
import { readable } from "../api/api";
import { choiceOf, choicesOf, type Entity, entityOf, type Field, ME, MEMBERS } from "../api/meta";
import { Links, Reference, useRowNames } from "../forms/reference";
import { momentOf } from "../forms/values";
import { Submit } from "../parts/Button";
import { Icon } from "../parts/Icon";
import { Menu } from "../parts/Menu";
import { personName } from "../screens/names";
import { plainNumber } from "../words/numbers";
import { date, type Key, t, time } from "../words/words";
import { titleOf } from "./cells";
import { PEOPLE } from "./kinds";
import { apiQuery, hasChoices, readFilter, readView, type View } from "./view";

interface Props {
  entity: Entity;
  view: View;
  change: (part: Partial<View>) => void;
}

export const operatorName = (operator: string) => t(`operator.${operator}` as Key);

/** A filter by the title of its field; by its key where no field of the entity has that name. */
export function filterName(entity: Entity, key: string): string {
  const { field, operator } = readFilter(entity, key);
  return field ? `${titleOf(field)} ${operatorName(operator)}` : key;
}

export function Chips({ entity, view, change }: Props) {
  const without = (index: number) => change({ filters: view.filters.filter((_, at) => at !== index) });
  return (
    <>
      {view.filters.map(([key, value], index) => (
        <Chip key={`${key}=${value}`} entity={entity} filter={key} value={value} remove={() => without(index)} />
      ))}
    </>
  );
}

const takesSeveral = (operator: string) => operator === "in" || operator === "all";

interface ChipProps {
  entity: Entity;
  filter: string;
  value: string;
  remove: () => void;
}

function Chip({ entity, filter, value, remove }: ChipProps) {
  const { field, operator } = readFilter(entity, filter);
  const values = takesSeveral(operator) ? value.split(",") : [value];
  const rows = useRowNames(field?.target && operator !== "isNull" ? entityOf(field.target) : undefined, values);
  const name = field ? filterName(entity, filter) : `${filter} =`;
  const shown = values.map((one) => rows.get(one) ?? valueText(field, operator, one)).join(", ");
  return (
    <span class="chip">
      <span>
        <bdi>{name}</bdi>{" "}
        <strong>
          <bdi>{shown}</bdi>
        </strong>
      </span>
      <button
        type="button"
        class="plain square"
        aria-label={t("filter.remove", { name: `${name} ${shown}` })}
        onClick={remove}
      >
        <Icon name="x" />
      </button>
    </span>
  );
}

/** A value of a filter as its form and the grid show it; one that the service will refuse, as it was typed. */
function valueText(field: Field | undefined, operator: string, value: string): string {
  if (operator === "isNull" || field?.kind === "boolean") return YES_NO[value] ? t(YES_NO[value]) : value;
  if (field?.kind === "timestamp") return value.includes("T") ? time(value) : date(value);
  if (field?.kind === "date") return date(value);
  if (field?.kind === "choice") return choiceOf(field, value).label;
  const isPerson = field && (field.target === MEMBERS || PEOPLE.test(field.name));
  if (isPerson && value === ME) return t("mine.me");
  return (isPerson && personName(value)) || value;
}

const YES_NO: Partial<Record<string, Key>> = { true: "yes", false: "no" };

/** Shows the caller's rows only, by a field that holds their owner; those who see no others need no button. */
export function Mine({ entity, view, change }: Props) {
  const fields = entity.own.includes("read") ? [] : entity.fields.filter(({ name }) => entity.mine.includes(name));
  if (!fields.length) return null;
  const isMine = ([key, value]: View["filters"][number]) => value === ME && entity.mine.includes(key);
  const others = view.filters.filter((filter) => !isMine(filter));
  const toggle = ({ name }: Field, text: string) => {
    const isOn = view.filters.some((filter) => isMine(filter) && filter[0] === name);
    return (
      <button
        key={name}
        type="button"
        aria-pressed={isOn}
        onClick={() => change({ filters: isOn ? others : [...others, [name, ME]] })}
      >
        <Icon name={isOn ? "check" : "circle-user"} />
        {text}
      </button>
    );
  };
  if (fields[0] && fields.length === 1) return toggle(fields[0], t("mine"));
  return (
    <Menu label={t("mine")} icon="circle-user" hasMarker={others.length < view.filters.length}>
      {() => <div class="menu">{fields.map((field) => toggle(field, titleOf(field)))}</div>}
    </Menu>
  );
}

export function AddFilter({ entity, view, change }: Props) {
  return (
    <Menu label={t("filter")} icon="list-filter" hasMarker={view.filters.length > 0}>
      {(close) => (
        <FilterForm
          entity={entity}
          add={(key, value) => {
            change({ filters: [...view.filters, [key, value]] });
            close();
          }}
        />
      )}
    </Menu>
  );
}

function FilterForm({ entity, add }: { entity: Entity; add: (key: string, value: string) => void }) {
  const fields = entity.fields.filter((field) => field.operators.length);
  const [field, setField] = useState<Field | undefined>(
    fields.find((candidate) => candidate.name === entity.display) ?? fields[0],
  );
  const first = (of?: Field) => (of?.operators.includes("contains") ? "contains" : (of?.operators[0] ?? "eq"));
  const [operator, setOperator] = useState(first(field));
  const [value, setValue] = useState("");
  if (!field) return null;
  function submit(event: Event): void {
    event.preventDefault();
    if (field && value) add(`${field.name}.${operator}`, sent(field, operator, value));
  }
  return (
    <form class="section filter-form" onSubmit={submit}>
      <label class="field">
        <span>{t("field")}</span>
        <select
          value={field.name}
          onChange={(event) => {
            const chosen = fields.find((candidate) => candidate.name === event.currentTarget.value);
            setField(chosen);
            setOperator(first(chosen));
            setValue("");
          }}
        >
          {fields.map((candidate) => (
            <option key={candidate.name} value={candidate.name}>
              {titleOf(candidate)}
            </option>
          ))}
        </select>
      </label>
      <label class="field">
        <span>{t("operator")}</span>
        <select value={operator} onChange={(event) => (setOperator(event.currentTarget.value), setValue(""))}>
          {field.operators.map((name) => (
            <option key={name} value={name}>
              {operatorName(name)}
            </option>
          ))}
        </select>
      </label>
      <FilterValue field={field} operator={operator} value={value} setValue={setValue} />
      {!field.indexed && <p class="small muted">{t("filter.slow")}</p>}
      <Submit isResting={!value}>{t("filter.add")}</Submit>
    </form>
  );
}

/** A date and time without a zone is meant in the reader's own, and a number in the reader's language. */
function sent(field: Field, operator: string, value: string): string {
  if (field.kind === "timestamp" && value.includes("T")) return momentOf(value) ?? value;
  return !takesSeveral(operator) && /integer|decimal/i.test(field.kind) ? plainNumber(value) : value;
}

const TYPES: Partial<Record<string, "date" | "datetime-local">> = { date: "date", timestamp: "datetime-local" };

interface ValueProps {
  field: Field;
  operator: string;
  value: string;
  setValue: (value: string) => void;
}

function FilterValue({ field, operator, value, setValue }: ValueProps) {
  const label = t("value");
  const onInput = (event: { currentTarget: { value: string } }) => setValue(event.currentTarget.value);
  if (operator === "isNull" || field.kind === "boolean")
    return (
      <label class="field">
        <span>{label}</span>
        <select value={value} onChange={onInput}>
          <option value="" />
          <option value="true">{t("yes")}</option>
          <option value="false">{t("no")}</option>
        </select>
      </label>
    );
  if (hasChoices(field) && !takesSeveral(operator))
    return (
      <label class="field">
        <span>{label}</span>
        <select value={value} onChange={onInput}>
          <option value="" />
          {choicesOf(field).map((choice) => (
            <option key={choice} value={choice}>
              {choiceOf(field, choice).label}
            </option>
          ))}
        </select>
      </label>
    );
  const target = field.target && takesSeveral(operator) ? entityOf(field.target) : undefined;
  if (target)
    return (
      <div class="field">
        <Links
          field={field}
          target={target}
          label={label}
          ids={value ? value.split(",") : []}
          change={(ids) => setValue(ids.join())}
        />
      </div>
    );
  if (field.kind === "reference" && operator !== "in")
    return <Reference field={field} label={label} value={value || null} change={(id) => setValue(id ?? "")} />;
  const type = takesSeveral(operator) ? "text" : (TYPES[field.kind] ?? "text");
  const inputMode = /integer|decimal|float/i.test(field.kind) ? "decimal" : undefined;
  return (
    <label class="field">
      <span>{takesSeveral(operator) ? t("filter.several") : label}</span>
      {h("input", { type, value, onInput, inputMode })}
    </label>
  );
}

/** The same view as text: what the API takes, to read, to change, and to paste. */
export function RawQuery({ entity, view, change }: Props) {
  const text = readable(apiQuery({ ...view, deleted: false }));
  const [draft, setDraft] = useState<string | null>(null);
  return (
    <label class="field">
      <span>{t("filter.raw")}</span>
      <input
        class="raw"
        placeholder={example(entity)}
        spellcheck={false}
        autocomplete="off"
        value={draft ?? decoded(text)}
        onInput={(event) => setDraft(event.currentTarget.value)}
        onBlur={() => setDraft(null)}
        onKeyDown={(event) => {
          if (event.key === "Escape") setDraft(null);
          if (event.key !== "Enter" || draft === null) return;
          const read = readView(entity, new URLSearchParams(draft.replace(/^\?/, "")));
          change({ search: read.search, sort: read.sort, filters: read.filters });
          setDraft(null);
        }}
      />
    </label>
  );
}

/** A query that this entity takes, to learn the grammar from. */
function example(entity: Entity): string {
  const field = entity.fields.find((candidate) => candidate.name === entity.columns[0]);
  const operator = field?.operators.includes("contains") ? "contains" : (field?.operators[0] ?? "eq");
  return field ? `${field.name}.${operator}=…&sort=${field.name}:asc` : "";
}

/** As one would type it; a text with a per cent sign or an ampersand of its own stays escaped. */
function decoded(text: string): string {
  const plain = decodeURIComponent(text.replace(/\+/g, " "));
  return new URLSearchParams(plain).toString() === new URLSearchParams(text).toString() ? plain : text;
}
