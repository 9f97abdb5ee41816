// Tables of the administration: columns as data, the states of a list, its pages and its search box.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { call } from "../api/api";
import { t } from "../words/words";
import { Button } from "./Button";
import { Icon } from "./Icon";
import { type Loaded, Ready, useLoaded } from "./States";

export interface Column<T> {
  title: string;
  cell: (row: T) => ComponentChildren;
  class?: "muted" | "numeric" | "muted numeric";
  /** The title is for listeners alone: a column of buttons. */
  isUnseen?: boolean;
}

interface TableProps<T> {
  rows: T[];
  /** The first column names the row. */
  columns: Column<T>[];
  id?: (row: T) => string;
  hasHead?: boolean;
  /** On a telephone each row stands by itself, and each cell behind the title of its column. */
  isStacked?: boolean;
}

export function Table<T extends object>({ rows, columns, id, hasHead = true, isStacked = hasHead }: TableProps<T>) {
  const key = id ?? ((row: T) => (row as { id: string }).id);
  const titleOf = ({ title, isUnseen }: Column<T>) => (isStacked && hasHead && !isUnseen ? title : undefined);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: on narrow screens the box scrolls, and is reached by keys
    <div class="table-box" tabIndex={0}>
      <table class={isStacked ? "plain stacked" : "plain"}>
        {hasHead && (
          <thead>
            <tr>
              {columns.map(({ title, isUnseen }) => (
                <th scope="col" key={title}>
                  {isUnseen ? <span class="unseen">{title}</span> : title}
                </th>
              ))}
            </tr>
          </thead>
        )}
        <tbody>
          {rows.map((row) => (
            <tr key={key(row)}>
              {columns.map((column, index) =>
                index === 0 ? (
                  <th scope="row" key={column.title}>
                    {column.cell(row)}
                  </th>
                ) : (
                  <td class={column.class} data-title={titleOf(column)} key={column.title}>
                    {isStacked ? <div>{column.cell(row)}</div> : column.cell(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export interface Paged<T> {
  items: T[];
  totalCount: number;
  page: number;
  totalPages: number;
}

export interface List<T> extends Loaded<Paged<T>> {
  go: (page: number) => void;
}

/** Pages of 50 of an identity endpoint; parameters without a value are left out, and a change goes to the first page. */
export function usePaged<T>(path: string, parameters: Record<string, string>): List<T> {
  const asked = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value)).toString();
  const [at, setAt] = useState({ asked, page: 1 });
  const page = at.asked === asked ? at.page : 1;
  const read = async () => {
    const query = new URLSearchParams(asked);
    query.set("page", String(page));
    query.set("pageSize", "50");
    return (await call<Paged<T>>("GET", path, { query })).data;
  };
  const loaded = useLoaded<Paged<T>>(read, [path, page, asked], true);
  return { ...loaded, go: (next) => setAt({ asked, page: next }) };
}

interface ListedProps<T> {
  list: List<T>;
  /** What is shown in place of a table without rows. */
  empty: ComponentChildren;
  children: (rows: T[]) => ComponentChildren;
}

export function Listed<T>({ list, empty, children }: ListedProps<T>) {
  return (
    <Ready loaded={list}>
      {({ items, page, totalPages }) => (
        <div class="section" aria-busy={list.isBusy}>
          {items.length ? children(items) : empty}
          <Pager page={page} pages={totalPages} go={list.go} />
        </div>
      )}
    </Ready>
  );
}

/** A search box whose text is asked for once nothing was typed for a quarter of a second. */
export function SearchBox({ search, placeholder }: { search: (text: string) => void; placeholder?: string }) {
  const [typed, setTyped] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => search(typed.trim()), 250);
    return () => clearTimeout(timer);
  }, [typed]);
  return <Find value={typed} change={setTyped} placeholder={placeholder} />;
}

export const Tags = ({ names }: { names: string[] }) => (
  <span class="tags">
    {names.map((name) => (
      <bdi class="badge" key={name}>
        {name}
      </bdi>
    ))}
  </span>
);

interface Choice {
  label: string;
  value: string;
  choose: (value: string) => void;
  options: [value: string, text: string][];
  /** In a form: the label is seen. */
  isField?: boolean;
}

/** A choice among the tools above a list, or in a form. */
export function Pick({ label, value, choose, options, isField }: Choice) {
  const select = (
    <select aria-label={label} value={value} onChange={(event) => choose(event.currentTarget.value)}>
      {options.map(([option, text]) => (
        <option key={option} value={option}>
          {text}
        </option>
      ))}
    </select>
  );
  if (!isField) return <span class="pick">{select}</span>;
  return (
    <label class="field">
      <span>{label}</span>
      {select}
    </label>
  );
}

interface PagerProps {
  page: number;
  pages: number;
  go: (page: number) => void;
}

export const Pager = ({ page, pages, go }: PagerProps) =>
  pages > 1 ? (
    <div class="row foot">
      <Button isResting={page <= 1} onClick={() => go(page - 1)}>
        {t("page.before")}
      </Button>
      <span>{t("page.of", { page, pages })}</span>
      <Button isResting={page >= pages} onClick={() => go(page + 1)}>
        {t("page.next")}
      </Button>
    </div>
  ) : null;

interface FindProps {
  value: string;
  change: (text: string) => void;
  placeholder?: string;
  /** What is searched for, where a screen has two searches. */
  label?: string;
}

/** The input of a search, with its icon. */
export const Find = ({ value, change, placeholder, label }: FindProps) => (
  <div class="find">
    <Icon name="search" />
    <input
      type="search"
      aria-label={label ?? t("search")}
      placeholder={placeholder ?? t("search")}
      value={value}
      onInput={(event) => change(event.currentTarget.value)}
    />
  </div>
);
