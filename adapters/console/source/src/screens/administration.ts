// The administration screens: one chunk, fetched when the first of them is opened.
export { Account } from "./account";
export { ServiceAccountScreen, ServiceAccounts } from "./keys";
export { Members } from "./members";
export { Person } from "./person";
export { Roles } from "./roles";
export { TenantSettings } from "./settings";
export { System } from "./system";
export { TenantScreen, Tenants } from "./tenants";
export { WebhookScreen } from "./webhook";
export { Webhooks } from "./webhooks";
