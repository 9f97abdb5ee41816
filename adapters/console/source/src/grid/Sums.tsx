// Below the grid: count, sums and averages of the filtered rows, and bars of the groups that the reader chooses.
import { useEffect, useState } from "preact/hooks";
import { call, isStopped } from "../api/api";
import { type Entity, entityOf, type Field } from "../api/meta";
import { Icon } from "../parts/Icon";
import { Loading } from "../parts/States";
import { Pick } from "../parts/Table";
import { reasonText } from "../parts/Toast";
import { locale, number, t } from "../words/words";
import { isNumber, titleOf } from "./cells";
import { filterName } from "./filters";
import { apiQuery, type View } from "./view";

/** Each column has a sum and an average, and a request ten measures. */
const COLUMNS = 4;
const BARS = 12;
const MORE_DIGITS = 2;
const GROUPED = new Set(["choice", "boolean", "reference", "date", "timestamp"]);

type Numbers = Record<string, number | string | null>;
interface Group {
  key: Record<string, string | boolean | null>;
  count: number;
  sum?: Numbers;
  avg?: Numbers;
}
type Options = [value: string, text: string][];
interface Summary {
  groups: Group[];
  truncated: boolean;
}

const isTime = (field: Field) => field.kind === "date" || field.kind === "timestamp";

/** The answer to a summary of the view. What was answered stays until the next answer. */
function useSummary(entity: Entity, view: View, asked: Record<string, string>) {
  const [found, set] = useState<{ summary?: Summary; error?: unknown }>({});
  const [again, setAgain] = useState(0);
  const query = apiQuery({ ...view, sort: [] });
  // a filter by a field of this name needs an operator here
  for (const name of ["group", "measures", "limit"]) {
    const value = query.get(name);
    query.delete(name);
    if (value !== null) query.set(`${name}.in`, value);
  }
  for (const [name, value] of Object.entries(asked)) query.set(name, value);
  const text = query.toString();
  useEffect(() => {
    const abort = new AbortController();
    const options = { query: new URLSearchParams(text), signal: abort.signal, exact: true };
    call<Summary>("GET", `/api/${entity.plural}/summary`, options).then(
      ({ data }) => set({ summary: data }),
      (error) => isStopped(error) || set({ error }),
    );
    return () => abort.abort();
  }, [entity, text, again]);
  return { ...found, retry: () => setAgain(again + 1) };
}

interface Props {
  entity: Entity;
  view: View;
  group: string;
  choose: (group: string) => void;
}

export function Sums({ entity, view, group, choose }: Props) {
  const numbers = entity.fields.filter(({ name }) => view.columns.includes(name) && name !== "version");
  const columns = numbers.filter(isNumber).slice(0, COLUMNS);
  const [measured, measure] = useState("");
  const grouped = entity.fields.find((field) => field.name === group);
  const shown = columns.find((field) => field.name === measured);
  const totals = useSummary(entity, view, {
    measures: ["count", ...columns.flatMap(({ name }) => [`sum:${name}`, `avg:${name}`])].join(),
  });
  const total = totals.summary?.groups[0];
  const groups: Options = [["", t("sums.none")]];
  for (const field of entity.fields.filter(({ kind }) => GROUPED.has(kind)))
    groups.push([field.name, isTime(field) ? t("sums.month", { name: titleOf(field) }) : titleOf(field)]);
  const measures: Options = [["", t("sums.count")]];
  for (const field of columns) measures.push([field.name, t("sums.of", { name: titleOf(field) })]);
  return (
    <section class="sums panel" aria-label={t("sums")}>
      <div class="figures">
        {totals.error ? (
          <Problem {...totals} entity={entity} />
        ) : (
          <dl aria-busy={!total}>
            <Figure title={t("sums.count")} lines={[["", total ? number(total.count) : "…"]]} />
            {columns.map((field) => (
              <Figure
                key={field.name}
                title={titleOf(field)}
                lines={[
                  [t("sums.sum"), written(field, total?.sum?.[field.name])],
                  [t("sums.average"), written(field, total?.avg?.[field.name], MORE_DIGITS)],
                ]}
              />
            ))}
          </dl>
        )}
        <div class="row">
          <Pick label={t("sums.group")} value={grouped ? group : ""} choose={choose} options={groups} isField />
          {grouped && columns.length > 0 && (
            <Pick label={t("sums.show")} value={shown ? measured : ""} choose={measure} options={measures} isField />
          )}
        </div>
      </div>
      {grouped && <Bars entity={entity} view={view} field={grouped} measured={shown} />}
    </section>
  );
}

/** A number as the language writes it; an average has some digits more than its field. */
function written(field: Field | undefined, value: number | string | null | undefined, more = 0): string {
  if (value === undefined) return "…";
  if (value === null) return "–";
  if (field?.kind === "float") return number(Number(value));
  return number(value, (field?.rules.scale ?? 0) + more);
}

const Figure = ({ title, lines }: { title: string; lines: [string, string][] }) => (
  <div>
    <dt>
      <bdi>{title}</bdi>
    </dt>
    {lines.map(([name, value]) => (
      <dd key={name}>
        {name && <span class="muted">{name} </span>}
        {value}
      </dd>
    ))}
  </div>
);

interface ProblemProps {
  error?: unknown;
  retry: () => void;
  entity: Entity;
}

const Problem = ({ error, retry, entity }: ProblemProps) => (
  <p class="row" role="alert">
    <Icon name="circle-alert" />
    <span>{reasonText(error, (key) => filterName(entity, key))}</span>
    <button type="button" onClick={retry}>
      {t("again")}
    </button>
  </p>
);

/** The property that names the row which a reference leads to, where the reader may read it. */
function nameOf(field: Field): string | null {
  const isRead = field.kind === "reference" && field.relation && field.target && entityOf(field.target);
  return isRead && field.targetDisplay ? `${field.relation}.${field.targetDisplay}` : null;
}

function labelOf(field: Field, { key }: Group): string {
  const value = key[field.name];
  if (value === null || value === undefined) return t("value.none");
  if (typeof value === "boolean") return t(value ? "yes" : "no");
  if (isTime(field))
    return new Intl.DateTimeFormat(locale.value, { year: "numeric", month: "short", timeZone: "UTC" }).format(
      new Date(value),
    );
  const name = key[nameOf(field) ?? ""];
  return name ? String(name) : field.kind === "reference" ? value.slice(0, 8) : value;
}

interface BarsProps {
  entity: Entity;
  view: View;
  field: Field;
  measured?: Field;
}

function Bars({ entity, view, field, measured }: BarsProps) {
  const measure = measured ? `sum:${measured.name}` : "count";
  const key = isTime(field) ? `${field.name}:month` : field.name;
  const found = useSummary(entity, view, {
    group: [key, nameOf(field)].filter(Boolean).join(),
    measures: measure,
    // the latest months, the largest groups
    sort: `${isTime(field) ? field.name : measure}:desc`,
    limit: String(BARS),
  });
  if (found.error) return <Problem {...found} entity={entity} />;
  if (!found.summary) return <Loading />;
  const { truncated } = found.summary;
  const groups = [...found.summary.groups];
  // null is the largest, so it comes last again
  if (isTime(field)) groups.reverse();
  const measureOf = (group: Group) => (measured ? group.sum?.[measured.name] : group.count) ?? null;
  const most = Math.max(...groups.map((group) => Math.abs(Number(measureOf(group))))) || 1;
  const title = measured ? t("sums.of", { name: titleOf(measured) }) : t("sums.count");
  return (
    <div class="bars">
      <table aria-label={`${title}: ${titleOf(field)}`}>
        <tbody>
          {groups.map((group, index) => (
            <tr key={index}>
              <th scope="row">
                <bdi>{labelOf(field, group)}</bdi>
              </th>
              <td>
                <svg class="bar-of" viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
                  <rect
                    class={Number(measureOf(group)) < 0 ? "bad" : "accent"}
                    width={(Math.abs(Number(measureOf(group))) / most) * 100}
                    height="1"
                  />
                </svg>
              </td>
              <td class="number">{written(measured, measureOf(group))}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {truncated && <p class="small muted">{t(isTime(field) ? "sums.latest" : "sums.largest", { count: BARS })}</p>}
    </div>
  );
}
