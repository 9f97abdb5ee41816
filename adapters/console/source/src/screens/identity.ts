// Shapes of the identity endpoints that several screens read.
import { call } from "../api/api";
import type { ListedRoleItem, Permission } from "../api/types";

export const SETTINGS = "/api/tenants/current/settings";

/** Milliseconds before its end in which a key asks for care. */
const SOON = 14 * 86_400_000;
export const endsSoon = (at: string | null) => at !== null && Date.parse(at) - Date.now() < SOON;

export const rolesOf = async () => (await call<{ items: ListedRoleItem[] }>("GET", "/api/roles")).data.items;
export const permissionsOf = async () => (await call<{ items: Permission[] }>("GET", "/api/permissions")).data.items;

/** The permission itself and the wildcards that include it. */
export function wider(permission: string): string[] {
  const [action, resource] = permission.split(":");
  return [...new Set([permission, `${action}:*`, `*:${resource}`, "*"])];
}

/** By which of what is held a permission is included, null for by none. */
export const holds = (held: string[], permission: string) =>
  wider(permission).find((name) => held.includes(name)) ?? null;
