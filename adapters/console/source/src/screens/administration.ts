// The administration screens: one chunk, fetched when the first of them is opened.
export { Account } from "./account";
export { Members } from "./members";
export { Person } from "./person";
export { Roles } from "./roles";
export { System } from "./system";
export { TenantScreen, TenantSettings, Tenants } from "./tenants";
