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

/** Whether what a role holds includes a permission, by itself or by a wildcard. */
export function holds(held: string[], permission: string): string | null {
  const [action, resource] = permission.split(":");
  const wide = [permission, `${action}:*`, `*:${resource}`, "*"];
  return wide.find((name) => held.includes(name)) ?? null;
}
