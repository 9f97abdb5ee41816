// Resources × roles: a preset for each, and the permissions behind it on demand.
import { useState } from "preact/hooks";
import type { ListedRoleItem as Role } from "../api/types";
import { Icon } from "../parts/Icon";
import { t } from "../words/words";
import { holds } from "./identity";
import { PRESET_WORDS, type Preset, presetOf, presetsOf, resourceName, withPreset } from "./presets";

export interface Group {
  /** Empty for the wildcards, which are above all groups. */
  title: string;
  /** Permissions by their resource. */
  resources: [resource: string, names: string[]][];
}

interface Props {
  groups: Group[];
  roles: Role[];
  held: (role: Role) => string[];
  set: (role: Role, names: string[]) => void;
  mayWrite: boolean;
  /** Why the caller can neither give nor take a permission; empty where they can. */
  reasonOf: (role: Role, name: string) => string;
  isWhole: boolean;
}

export function MatrixRows({ groups, isWhole, roles, ...more }: Props) {
  const [opened, setOpened] = useState<string[]>([]);
  const toggle = (resource: string) =>
    setOpened(opened.includes(resource) ? opened.filter((other) => other !== resource) : [...opened, resource]);
  return (
    <>
      {groups.map(({ title, resources }) => (
        <tbody key={title || EVERYTHING}>
          {title && (
            <tr class="category">
              <th colSpan={roles.length + 1} scope="colgroup">
                {title}
              </th>
            </tr>
          )}
          {resources.map(([resource, names]) => {
            // wildcards have no presets
            const isOpen = isWhole || resource === "*" || opened.includes(resource);
            return [
              resource !== "*" && (
                <tr key={resource} class="resource">
                  <th scope="row">
                    {isWhole ? (
                      resourceName(resource)
                    ) : (
                      <button type="button" class="plain" aria-expanded={isOpen} onClick={() => toggle(resource)}>
                        <Icon name={isOpen ? "chevron-down" : "chevron-right"} />
                        {resourceName(resource)}
                      </button>
                    )}
                  </th>
                  {roles.map((role) => (
                    <td key={role.id}>
                      <PresetPick role={role} resource={resource} names={names} {...more} />
                    </td>
                  ))}
                </tr>
              ),
              ...(isOpen ? names.map((name) => <PermissionRow key={name} name={name} roles={roles} {...more} />) : []),
            ];
          })}
        </tbody>
      ))}
    </>
  );
}

/** The permission that includes every other. */
const EVERYTHING = "*";

const nameOf = (permission: string) => (permission === EVERYTHING ? t("roles.everything") : permission);

type Cell = Omit<Props, "groups" | "isWhole" | "roles">;

function PresetPick({
  role,
  resource,
  names,
  held,
  set,
  mayWrite,
  reasonOf,
}: Cell & { role: Role; resource: string; names: string[] }) {
  const own = held(role);
  const isEverything = own.includes(EVERYTHING);
  const preset = isEverything ? "all" : presetOf(own, names);
  const options = [...presetsOf(names)].map(([name, chosen]) => {
    const next = withPreset(own, names, chosen);
    const changed = next ? names.filter((each) => own.includes(each) !== next.includes(each)) : [];
    return { name, next, isRefused: !next || changed.some((each) => reasonOf(role, each) !== "") };
  });
  const isFixed = !mayWrite || isEverything || options.every(({ name, isRefused }) => isRefused || name === preset);
  return (
    <select
      class={`preset ${preset}`}
      aria-label={`${role.name}: ${resourceName(resource)}`}
      value={preset}
      disabled={isFixed}
      onChange={(event) => {
        const chosen = options.find(({ name }) => name === (event.currentTarget.value as Preset));
        if (chosen?.next) set(role, chosen.next);
      }}
    >
      {!options.some(({ name }) => name === preset) && <option value={preset}>{t(PRESET_WORDS[preset])}</option>}
      {options.map(({ name, isRefused }) => (
        <option key={name} value={name} disabled={isRefused && name !== preset}>
          {t(PRESET_WORDS[name])}
        </option>
      ))}
    </select>
  );
}

function PermissionRow({ name, roles, held, set, mayWrite, reasonOf }: Cell & { name: string; roles: Role[] }) {
  return (
    <tr class={name === EVERYTHING ? "resource" : undefined}>
      <th scope="row">{name === EVERYTHING ? nameOf(name) : <code>{name}</code>}</th>
      {roles.map((role) => {
        const own = held(role);
        const by = holds(own, name);
        const reason =
          by && !own.includes(name) ? t("roles.by", { name: nameOf(by) }) : mayWrite ? reasonOf(role, name) : "";
        const next = own.includes(name) ? own.filter((other) => other !== name) : [...own, name];
        return (
          <td key={role.id}>
            <label title={reason || undefined}>
              <input
                type="checkbox"
                aria-label={`${role.name}: ${nameOf(name)}`}
                aria-description={reason || undefined}
                checked={by !== null}
                disabled={!mayWrite || reason !== ""}
                onChange={() => set(role, next)}
              />
            </label>
          </td>
        );
      })}
    </tr>
  );
}

/** What each preset gives. */
export const Legend = () => (
  <dl class="legend small muted">
    {(["read", "write", "all"] as const).map((preset) => (
      <div key={preset}>
        <dt>{t(PRESET_WORDS[preset])}</dt>
        <dd>{t(`roles.${preset}.text`)}</dd>
      </div>
    ))}
  </dl>
);
