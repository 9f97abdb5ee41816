// The title of the page: the name of what is open, its screen, the tenant, the service.
import { computed } from "@preact/signals";
import { entityOf } from "../api/meta";
import { entityTitle } from "../grid/cells";
import { parts } from "../session/routes";
import { state, tenant } from "../session/session";
import { challenge, newCodes } from "../signin/login";
import { type Key, t } from "../words/words";
import { openName } from "./Title";

const SCREENS = new Map<string, Key>([
  ["people", "members"],
  ["keys", "keys"],
  ["webhooks", "webhooks"],
  ["roles", "roles"],
  ["audit", "audit"],
  ["tenants", "tenants"],
  ["settings", "settings"],
  ["system", "system"],
  ["account", "account"],
]);

/** Name of the screen at the address; empty for an address that leads to none. */
function screenName(): string {
  const [first, plural] = parts.value;
  if (first === undefined) return t("home");
  if (first === "rows") return entityTitle(entityOf(plural ?? ""));
  const key = SCREENS.get(first);
  return key ? t(key) : "";
}

/** Name of what stands there before anybody is in a tenant. */
function entranceName(): string {
  if (state.value === "offline") return t("offline.title");
  if (newCodes.value) return t("mfa.codes");
  if (state.value === "choosing") return t("login.tenant");
  if (challenge.value) return t(challenge.value.isEnrolment ? "mfa.enrol" : "mfa.title");
  return t("login.title");
}

export const pageTitle = computed(() => {
  const names = state.value === "in" ? [openName.value, screenName(), tenant.value?.name] : [entranceName()];
  return [...names, "Tenantry"].filter(Boolean).join(" · ");
});
