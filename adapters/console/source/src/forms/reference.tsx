// A reference to a row of another entity: its name, and a search that shows 20 rows at a time.
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { call } from "../api/api";
import { type Entity, entityOf, type Field, type Row, rowLabel } from "../api/meta";
import { Icon } from "../parts/Icon";
import { failed } from "../parts/Toast";
import { RowName, rowHref, Unseen } from "../screens/names";
import { t } from "../words/words";

interface Props {
  field: Field;
  label: string;
  value: string | null;
  change: (id: string | null) => void;
  describedBy?: string;
  isInvalid?: boolean;
  disabled?: boolean;
  /** Ids that the search leaves out: those that are chosen already. */
  without?: string[];
}

/** As one of its looks has it; the id is of what takes the focus. */
type Shared = Props & { id: string };

const SHOWN = 20;

export function Reference(props: Props) {
  const target = props.field.target ? entityOf(props.field.target) : undefined;
  const id = useId();
  // what is typed into a field that was empty stays an input
  const given = useRef(props.value);
  const moved = useRef(false);
  const { value, label } = props;
  const change = (next: string | null) => {
    moved.current = true;
    props.change(next);
  };
  // the field looks another way now: the focus stays with it
  useLayoutEffect(() => {
    if (moved.current) document.getElementById(id)?.focus();
    moved.current = false;
  }, [value]);
  const shared = { ...props, id, change };
  if (!target && value && value === given.current) return <Kept {...shared} value={value} />;
  if (!target)
    return (
      <>
        <label for={id}>{label}</label>
        <input
          id={id}
          class="mono"
          value={value ?? ""}
          disabled={props.disabled}
          aria-describedby={props.describedBy}
          aria-invalid={props.isInvalid || undefined}
          onInput={(event) => props.change(event.currentTarget.value || null)}
        />
        <span class="hint small">{t("reference.id")}</span>
      </>
    );
  if (value) return <Chosen {...shared} target={target} value={value} />;
  return <Picker {...shared} target={target} />;
}

const namePart = (target: Entity): Record<string, string> => (target.display ? { fields: target.display } : {});

const ID = /^[\da-f-]{36}$/i;
const MOST_NAMES = 100;

/** Names of rows by their ids; a row that cannot be read has none. */
export function useRowNames(target: Entity | undefined, ids: string[]): ReadonlyMap<string, string> {
  const [names, setNames] = useState<ReadonlyMap<string, string>>(new Map());
  useEffect(() => {
    const known = ids.filter((id) => ID.test(id) && !names.has(id)).slice(0, MOST_NAMES);
    if (!target || !known.length) return;
    const query = { "id.in": known.join(), pageSize: String(MOST_NAMES), count: "none", ...namePart(target) };
    call<{ items: Row[] }>("GET", `/api/${target.plural}`, { query }).then(
      ({ data }) =>
        setNames(
          (before) => new Map([...before, ...data.items.map((row) => [row.id, rowLabel(target, row)] as const)]),
        ),
      () => undefined,
    );
  }, [target, ids.join()]);
  return names;
}

interface LinksProps extends Omit<Props, "value" | "change"> {
  ids: string[];
  change: (ids: string[]) => void;
}

/** Rows of another entity in their order, each taken away by its button; the search adds one at the end. */
export function Links({ ids, change, ...props }: LinksProps & { target: Entity }) {
  const { target, label, disabled } = props;
  const id = useId();
  const names = useRowNames(target, ids);
  const box = useRef<HTMLDivElement>(null);
  return (
    <>
      <Picker {...props} id={id} value={null} without={ids} change={(added) => added && change([...ids, added])} />
      {ids.length > 0 && (
        <div class="chips" role="group" aria-label={label} tabIndex={-1} ref={box}>
          {ids.map((linked) => {
            const name = names.get(linked) ?? linked.slice(0, 13);
            return (
              <span class="chip" key={linked}>
                <span>
                  <RowName target={target} name={name} />
                </span>
                {!disabled && (
                  <button
                    type="button"
                    class="plain square"
                    aria-label={t("links.remove", { name })}
                    onClick={() => {
                      box.current?.focus();
                      change(ids.filter((other) => other !== linked));
                    }}
                  >
                    <Icon name="x" />
                  </button>
                )}
              </span>
            );
          })}
        </div>
      )}
    </>
  );
}

/** A row that the reader may not see: it stays what it is until they take it away. */
const Kept = ({ id, label, value, change, disabled }: Shared & { value: string }) => (
  <>
    <span class="label-like">{label}</span>
    <div class="chosen" id={id} tabIndex={-1} role="group" aria-label={label}>
      <Unseen id={value} />
      {!disabled && <Away label={label} change={change} />}
    </div>
    <span class="hint small">{t("reference.unseen")}</span>
  </>
);

const Away = ({ label, change }: Pick<Props, "label" | "change">) => (
  <button
    type="button"
    class="plain square"
    aria-label={t("reference.change", { name: label })}
    onClick={() => change(null)}
  >
    <Icon name="x" />
  </button>
);

function Chosen({ id, target, label, value, change, disabled }: Shared & { target: Entity; value: string }) {
  const name = useRowNames(target, [value]).get(value) ?? value.slice(0, 13);
  return (
    <>
      <span class="label-like">{label}</span>
      <div class="chosen" id={id} tabIndex={-1} role="group" aria-label={label}>
        <a href={rowHref(target, value)}>
          <RowName target={target} name={name} />
        </a>
        {!disabled && <Away label={label} change={change} />}
      </div>
    </>
  );
}

/** Rows whose text matches: by the search of the entity, else by its display field. */
function findQuery(target: Entity, text: string): Record<string, string> {
  const query: Record<string, string> = { pageSize: String(SHOWN), count: "none", ...namePart(target) };
  const typed = text.trim();
  if (!typed) return query;
  if (target.has.search.length) query.search = typed;
  else if (target.display) query[`${target.display}.contains`] = typed;
  return query;
}

type PickerProps = Shared & { target: Entity };

function Picker({ id, target, label, change, describedBy, isInvalid, disabled, without }: PickerProps) {
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState("");
  const [found, setFound] = useState<{ text: string; rows: Row[]; all: number } | null>(null);
  const [isOpen, setOpen] = useState(false);
  const [active, setActive] = useState(0);
  useEffect(() => {
    if (!isOpen) return;
    const abort = new AbortController();
    const timer = setTimeout(async () => {
      try {
        const options = { query: findQuery(target, text), signal: abort.signal };
        const { data } = await call<{ items: Row[] }>("GET", `/api/${target.plural}`, options);
        const rows = data.items.filter((row) => !without?.includes(row.id));
        setFound({ text, rows, all: data.items.length });
        setActive(0);
      } catch (error) {
        failed(error);
      }
    }, 150);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text, isOpen]);

  const rows = found?.rows;
  /** The rows of what is typed; null until they are there: those of the text before are not meant. */
  const current = found?.text === text ? found.rows : null;

  function choose(row: Row | undefined): void {
    if (!row) return;
    setOpen(false);
    setText("");
    change(row.id);
  }

  function onKeyDown(event: KeyboardEvent): void {
    const last = (rows?.length ?? 1) - 1;
    if (event.key === "ArrowDown") isOpen ? setActive(Math.min(last, active + 1)) : setOpen(true);
    else if (event.key === "ArrowUp") setActive(Math.max(0, active - 1));
    else if (event.key === "Enter" && isOpen && rows) choose(current?.[active]);
    else if (event.key === "Escape" && isOpen) setOpen(false);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  return (
    <>
      <label for={id}>{label}</label>
      <div class="picker">
        <input
          id={id}
          ref={input}
          role="combobox"
          autocomplete="off"
          aria-expanded={isOpen}
          aria-controls={`${id}-list`}
          aria-autocomplete="list"
          aria-activedescendant={isOpen && rows?.length ? `${id}-${active}` : undefined}
          aria-describedby={describedBy}
          aria-invalid={isInvalid || undefined}
          disabled={disabled}
          placeholder={t("reference.search", { name: target.title })}
          value={text}
          onClick={() => setOpen(true)}
          // text that chose nothing is not part of the form: it would look like a value
          onBlur={() => (setOpen(false), setText(""))}
          onInput={(event) => (setText(event.currentTarget.value), setOpen(true))}
          onKeyDown={onKeyDown}
        />
        {isOpen && rows && (
          <div
            class="options"
            role="listbox"
            id={`${id}-list`}
            aria-label={label}
            onPointerDown={(event) => event.preventDefault()}
          >
            {rows.map((row, index) => (
              // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the input
              <div
                key={row.id}
                id={`${id}-${index}`}
                role="option"
                aria-selected={index === active}
                onClick={() => choose(row)}
              >
                <RowName target={target} name={rowLabel(target, row)} />
              </div>
            ))}
            {rows.length === 0 && <p class="muted">{t(found.all ? "reference.all" : "grid.nothing")}</p>}
            {found.all === SHOWN && <p class="muted small">{t("reference.more")}</p>}
          </div>
        )}
      </div>
    </>
  );
}
