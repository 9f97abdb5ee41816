// Presets of a role for one resource: which of its permissions belong to "read", "write" and "all".
import { entityOf } from "../api/meta";
import { entityTitle } from "../grid/cells";
import { type Key, t } from "../words/words";
import { holds } from "./identity";

export type Preset = "none" | "read" | "write" | "all" | "custom";

export const PRESET_WORDS: Record<Preset, Key> = {
  none: "roles.none",
  read: "roles.read",
  write: "roles.write",
  all: "roles.all",
  custom: "roles.custom",
};

const READING = new Set(["read"]);
const WRITING = new Set(["read", "create", "update", "delete"]);

export const resourceOf = (permission: string): string => permission.split(":")[1] ?? permission;
const actionOf = (permission: string): string => permission.split(":")[0] ?? permission;

/** The permissions of a resource that each preset gives. Presets with the same permissions are one: the widest. */
export function presetsOf(names: string[]): Map<Preset, string[]> {
  const found = new Map<Preset, string[]>([["none", []]]);
  const sizes = new Set([0]);
  // each one includes the one before: equal sizes are equal presets
  for (const [preset, chosen] of [
    ["read", names.filter((name) => READING.has(actionOf(name)))],
    ["write", names.filter((name) => WRITING.has(actionOf(name)))],
    ["all", names],
  ] as const)
    if (!sizes.has(chosen.length)) {
      sizes.add(chosen.length);
      found.set(preset, chosen);
    }
  return found;
}

/** The preset that a role has, with what its wildcards include. */
export function presetOf(held: string[], names: string[]): Preset {
  const has = names.filter((name) => holds(held, name) !== null);
  for (const [preset, chosen] of presetsOf(names))
    if (chosen.length === has.length && chosen.every((name) => has.includes(name))) return preset;
  return "custom";
}

/** What a role holds by itself after a preset is chosen; null where its wildcards give more than the preset. */
export function withPreset(held: string[], names: string[], chosen: string[]): string[] | null {
  const others = held.filter((name) => !names.includes(name));
  const included = names.filter((name) => holds(others, name) !== null);
  if (!included.every((name) => chosen.includes(name))) return null;
  return [...others, ...chosen.filter((name) => !included.includes(name))];
}

const OWN = new Map<string, Key>([
  ["users", "members"],
  ["members", "roles.directory"],
  ["roles", "roles"],
  ["permissions", "permissions"],
  ["invitations", "invitations"],
  ["service-accounts", "keys"],
  ["tenants", "tenants"],
  ["tenant-settings", "settings"],
  ["applications", "applications"],
  ["webhooks", "webhooks"],
  ["system", "system"],
]);

/** What a resource is called; one that the console does not know has the words of its name. */
export function resourceName(resource: string): string {
  const own = OWN.get(resource);
  if (own) return t(own);
  const words = entityTitle(entityOf(resource)) || resource.replace(/-/g, " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
