// Shapes of the identity endpoints that several screens read.
import { call } from "../api/api";

export interface UserItem {
  id: string;
  email: string;
  fullName: string;
  roles: string[];
  isActive: boolean;
  createdAt: string;
}

export interface UserDetail extends UserItem {
  phoneNumber: string | null;
  emailConfirmed: boolean;
  isLocked: boolean;
  lockedUntil: string | null;
  mustChangePassword: boolean;
  lastLoginAt: string | null;
  tenants: { id: string; name: string; isDefault: boolean }[];
}

export interface Paged<T> {
  items: T[];
  totalCount: number;
  page: number;
  totalPages: number;
}

export interface Role {
  id: string;
  name: string;
  description: string;
  permissions: string[];
  isSystem: boolean;
  userCount: number;
}

export interface Permission {
  id: string;
  name: string;
  description: string;
  category: string;
}

export const rolesOf = async () => (await call<{ items: Role[] }>("GET", "/api/roles")).data.items;
export const permissionsOf = async () => (await call<{ items: Permission[] }>("GET", "/api/permissions")).data.items;

/** The permission itself and the wildcards that include it. */
export function wider(permission: string): string[] {
  const [action, resource] = permission.split(":");
  return [...new Set([permission, `${action}:*`, `*:${resource}`, "*"])];
}

/** By which of what is held a permission is included, null for by none. */
export const holds = (held: string[], permission: string) =>
  wider(permission).find((name) => held.includes(name)) ?? null;
