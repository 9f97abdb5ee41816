// The command palette: screens, new rows, settings, members and rows, found by typing and opened by Enter.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import { call } from "../api/api";
import { type Entity, entityOf, mayArea, type Row, rowLabel, scope } from "../api/meta";
import type { UserItem } from "../api/types";
import { go, href, parts } from "../session/routes";
import { may } from "../session/session";
import { isDark, isDense, theme } from "../session/theme";
import { t } from "../words/words";
import { Icon } from "./Icon";
import { dataEntities, places } from "./places";

interface Command {
  id: string;
  icon: string;
  label: string;
  /** What a label belongs to, such as the entity of a row. */
  of?: string;
  /** An address of the console, or what is done. */
  to?: string;
  run?: () => void;
}

interface Section {
  title: string;
  commands: Command[];
}

const PAUSE = 180; // milliseconds without a key before rows are searched
const LEAST = 2; // characters
const MOST_ENTITIES = 4; // searched at once: one request each
const SHOWN = 5; // rows of each

const plain = (text: string) => text.normalize("NFD").replace(/\p{M}/gu, "").toLocaleLowerCase();

/** Whether each word of what is typed begins a word of the text, or is within it. */
const fits = (text: string, words: string[]) => words.every((word) => plain(text).includes(word));

/** Commands that need no request. */
function known(): Command[] {
  const screens = places().flatMap((group) =>
    group.places.map(({ to, icon, label }) => ({ id: to, icon, label, of: group.title, to })),
  );
  const news = dataEntities()
    .filter((entity) => entity.may.create)
    .map((entity) => ({
      id: `new ${entity.plural}`,
      icon: "plus",
      label: t("row.new.title", { name: entity.name }),
      to: href("rows", entity.plural, "new"),
    }));
  const settings = (["tenant.brand", "security", "domains", "owners"] as const).map((key) => ({
    id: key,
    icon: "settings",
    label: t(key),
    of: t("settings"),
    to: href("settings"),
  }));
  const account = (["account.profile", "account.looks", "account.language"] as const).map((key) => ({
    id: key,
    icon: "circle-user",
    label: t(key),
    of: t("account"),
    to: href("account"),
  }));
  return [
    ...screens,
    { id: "account", icon: "circle-user", label: t("account"), to: href("account") },
    ...news,
    ...settings,
    ...account,
    {
      id: "theme",
      icon: isDark.value ? "sun" : "moon",
      label: t(isDark.value ? "theme.light" : "theme.dark"),
      of: t("account.theme"),
      run: () => (theme.value = isDark.value ? "light" : "dark"),
    },
    { id: "dense", icon: "rows-3", label: t("dense"), run: () => (isDense.value = !isDense.value) },
  ];
}

/** Entities whose rows can be searched: first the one that is open. */
function searchable(): Entity[] {
  const here = parts.value[0] === "rows" ? parts.value[1] : undefined;
  const found = dataEntities().filter(
    ({ has, plural, display }) => has.search.length > 0 || (plural === here && display),
  );
  return [...found].sort((a, b) => Number(b.plural === here) - Number(a.plural === here)).slice(0, MOST_ENTITIES);
}

async function rowsOf(entity: Entity, typed: string): Promise<Section> {
  const way = entity.has.search.length ? "search" : `${entity.display}.contains`;
  const query = { ...Object.fromEntries([[way, typed]]), pageSize: String(SHOWN), count: "none" };
  const { data } = await call<{ items: Row[] }>("GET", `/api/${entity.plural}`, { query });
  const commands = data.items.map((row) => ({
    id: row.id,
    icon: "file-text",
    label: rowLabel(entityOf(entity.plural), row),
    to: href("rows", entity.plural, row.id),
  }));
  return { title: entity.title, commands };
}

async function membersBy(typed: string): Promise<Section> {
  const query = { search: typed, pageSize: String(SHOWN) };
  const { data } = await call<{ items: UserItem[] }>("GET", "/api/users", { query });
  const commands = data.items.map(({ id, fullName, email }) => ({
    id,
    icon: "user",
    label: fullName || email,
    of: email,
    to: href("people", id),
  }));
  return { title: t("members"), commands };
}

/** Rows and members by what is typed, once the keys rest; an answer to an earlier text is dropped. */
function useFound(typed: string): { sections: Section[]; isBusy: boolean } {
  const [found, setFound] = useState<{ typed: string; sections: Section[] }>({ typed: "", sections: [] });
  const isAsked = typed.length >= LEAST;
  useEffect(() => {
    if (!isAsked) return;
    let isCurrent = true;
    const timer = setTimeout(() => {
      const asked = searchable().map((entity) => rowsOf(entity, typed));
      if (mayArea("members") && may("read:users") && !scope.value) asked.push(membersBy(typed));
      void Promise.allSettled(asked).then((settled) => {
        const sections = settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
        if (isCurrent) setFound({ typed, sections: sections.filter(({ commands }) => commands.length > 0) });
      });
    }, PAUSE);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [typed]);
  return { sections: isAsked ? found.sections : [], isBusy: isAsked && found.typed !== typed };
}

export function Palette({ onClose }: { onClose: () => void }) {
  const box = useRef<HTMLDialogElement>(null);
  const id = useId();
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const typed = text.trim();
  const { sections, isBusy } = useFound(typed);
  const all = useMemo(known, []);
  const words = plain(typed).split(/\s+/).filter(Boolean);
  const own = all.filter(({ label, of }) => fits(`${label} ${of ?? ""}`, words));
  const shown = [...(own.length ? [{ title: t("palette.go"), commands: own.slice(0, 12) }] : []), ...sections];
  const commands = shown.flatMap((section) => section.commands);
  const current = commands[Math.min(at, commands.length - 1)];

  useEffect(() => {
    const before = document.activeElement;
    box.current?.showModal();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
    };
  }, []);
  useEffect(() => {
    box.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [current?.id]);

  function choose(command: Command | undefined): void {
    if (!command) return;
    box.current?.close();
    command.run?.();
    if (command.to) void go(command.to);
  }
  function onKeyDown(event: KeyboardEvent): void {
    if (event.isComposing) return;
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };
    const step = steps[event.key];
    if (step && commands.length) setAt((Math.min(at, commands.length - 1) + step + commands.length) % commands.length);
    else if (event.key === "Enter") choose(current);
    else return;
    event.preventDefault();
  }
  return (
    <dialog
      ref={box}
      class="palette"
      aria-label={t("palette")}
      onClose={onClose}
      onClick={(event) => event.target === box.current && box.current?.close()}
    >
      <div class="palette-box">
        <div class="palette-head">
          <Icon name="search" />
          <input
            role="combobox"
            aria-label={t("palette.hint")}
            aria-expanded={commands.length > 0}
            aria-controls={`${id}list`}
            aria-activedescendant={current && `${id}${current.id}`}
            aria-autocomplete="list"
            autocomplete="off"
            placeholder={t("palette.hint")}
            value={text}
            onInput={(event) => {
              setText(event.currentTarget.value);
              setAt(0);
            }}
            onKeyDown={onKeyDown}
          />
          <button type="button" class="plain square" aria-label={t("close")} onClick={() => box.current?.close()}>
            <Icon name="x" />
          </button>
        </div>
        <div class="palette-list" id={`${id}list`} role="listbox" aria-label={t("palette")} tabIndex={-1}>
          {shown.map((section) => (
            <Group key={section.title} id={`${id}${section.title}`} title={section.title}>
              {section.commands.map((command) => (
                // biome-ignore lint/a11y/useFocusableInteractive: the input names the current one
                <div
                  key={command.id}
                  id={`${id}${command.id}`}
                  role="option"
                  class="nav"
                  aria-selected={command === current}
                  onPointerMove={() => setAt(commands.indexOf(command))}
                  onClick={() => choose(command)}
                >
                  <Icon name={command.icon} />
                  <bdi>{command.label}</bdi>
                  {command.of && <bdi class="muted small">{command.of}</bdi>}
                </div>
              ))}
            </Group>
          ))}
        </div>
        <p class="palette-foot muted small" role="status">
          {isBusy ? t("loading") : commands.length ? t("palette.keys") : t("grid.nothing")}
        </p>
      </div>
    </dialog>
  );
}

const Group = ({ id, title, children }: { id: string; title: string; children: ComponentChildren }) => (
  <div role="group" aria-labelledby={id}>
    <div class="palette-title" id={id}>
      {title}
    </div>
    {children}
  </div>
);
