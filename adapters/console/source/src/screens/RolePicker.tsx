// Lists of roles to give: a role that the service would refuse this caller can be neither chosen nor left out.
import { mayArea } from "../api/meta";
import type { ListedRoleItem as Role } from "../api/types";
import { CheckList } from "../parts/CheckList";
import { may, tenant } from "../session/session";
import { t } from "../words/words";

const isSuperAdmin = (role: Role) => role.isSystem && role.name === "SuperAdmin";

/** Roles that a membership can have: SuperAdmin is held outside of all tenants. */
export const ofMemberships = (roles: Role[]) => roles.filter((role) => !isSuperAdmin(role));

/** Whether the caller may give and take the role of this name: they hold each of its permissions. */
export function mayGive(roles: Role[], name: string): boolean {
  const named = roles.filter((role) => role.name === name);
  // the service means the tenant's own role where a system role has the same name
  const role = named.find((candidate) => !candidate.isSystem) ?? named[0];
  if (!role) return false;
  if (isSuperAdmin(role)) return mayArea("tenants") && tenant.value?.identifier === "system";
  return role.permissions.every(may);
}

interface Props {
  roles: Role[];
  chosen: string[];
  change: (chosen: string[]) => void;
  legend?: string;
  isReading?: boolean;
  /** Whether the service asks only about roles that are given, and not about those that are left out. */
  mayLeaveOut?: boolean;
}

export function RolePicker({ roles, chosen, change, legend, isReading = false, mayLeaveOut = false }: Props) {
  // who may not read the roles has none to choose from
  if (!roles.length && !chosen.length) return null;
  const isBeyond = (name: string) => !mayGive(roles, name) && !(mayLeaveOut && chosen.includes(name));
  return (
    <CheckList
      legend={legend ?? t("roles")}
      all={roles.map((role) => role.name)}
      chosen={chosen}
      change={change}
      isFixed={(name) => isReading || isBeyond(name)}
      hint={!isReading && roles.some((role) => isBeyond(role.name)) ? t("roles.beyond") : undefined}
    />
  );
}
