// Who is signed in to the console, in this tab, and in which tenant. Another tab may be in another tenant.
import { signal } from "@preact/signals";
import { ApiError, call, hooks, isPassing } from "../api/api";
import { entityOf, loadMeta, meta, scope } from "../api/meta";
import type { Profile, Tenant } from "../api/types";
import { choices, startAgain, started, waits, way } from "../signin/login";
import { t } from "../words/words";
import { go, href, unsaved } from "./routes";
import { applyAccent } from "./theme";
import {
  endSession,
  exclusively,
  isRemembered,
  own,
  permissions,
  post,
  refreshed,
  remember,
  STRANGER,
  type TokenResult,
  tenantId,
  token,
} from "./tokens";

export type State = "starting" | "offline" | "out" | "choosing" | "in";
export const state = signal<State>("starting");
export const profile = signal<Profile | null>(null);
export const tenant = signal<Tenant | null>(null);
export const mustChangePassword = signal(false);

// identity has no other tenant than that of the token: the header is for rows
hooks.scope = (path) => (entityOf(path.split("/")[2] ?? "") ? (scope.peek()?.id ?? null) : null);

/** Whether the token holds a permission, by itself or by a wildcard: `*`, `read:*`. */
export function may(permission: string): boolean {
  const held = permissions.value;
  const [action, resource] = permission.split(":");
  return [permission, `${action}:*`, `*:${resource}`, "*"].some((name) => held.includes(name));
}

/** The tenant of this tab is remembered over a reload: its id alone, and for this tab alone. */
const TAB = "tenantry.tenant";
own.tenant = () => sessionStorage.getItem(TAB);

own.ended = (error) => {
  if (error.code === STRANGER) throw error;
  // what is typed stays on the screen: whoever signs in again in another tab saves it here
  if (unsaved.size) throw new ApiError(401, "SESSION_ENDED", t("session.ended"));
  forget();
  // the tenant asks for a second factor now: the session goes on once it is shown or set up
  if (error.mfa) waits(error, error.mfa);
};

way.signIn = (kind, body) => {
  if (kind === "password" || kind === "passkey") mustChangePassword.value = false;
  return post("", { with: kind, ...body });
};
way.enter = (id) => enter(id);
way.taken = (result) => taken(result);
way.waits = () => (state.value = "out");

async function taken(result: TokenResult): Promise<void> {
  token.value = result.token;
  remember();
  mustChangePassword.value = result.mustChangePassword ?? mustChangePassword.value;
  if (result.isGlobal || result.requiresTenantSelection) {
    choices.value = result.availableTenants ?? (await call<Profile>("GET", "/api/auth/me/complete")).data.tenants;
    state.value = "choosing";
    return;
  }
  if (tenantId.value) sessionStorage.setItem(TAB, tenantId.value);
  await furnish();
}

/** Reads what every screen needs, at once. */
async function furnish(): Promise<void> {
  const [mine, current] = await Promise.all([
    call<Profile>("GET", "/api/auth/me/complete"),
    call<Tenant>("GET", "/api/tenants/current"),
    loadMeta(),
  ]);
  profile.value = mine.data;
  tenant.value = current.data;
  applyAccent(current.data.settings.branding?.primaryColor);
  state.value = "in";
}

export async function reloadProfile(): Promise<void> {
  profile.value = (await call<Profile>("GET", "/api/auth/me/complete")).data;
}

/** Goes from one tenant to another one, and home there: an open row or form is of the tenant before. */
export async function switchTo(id: string): Promise<void> {
  if (await go(href())) await enter(id);
}

/** Goes to a tenant, after the login or from another one. */
export async function enter(id: string): Promise<void> {
  scope.value = null;
  const before = sessionStorage.getItem(TAB);
  sessionStorage.setItem(TAB, id);
  try {
    await started(() => exclusively(() => refreshed(id)));
  } catch (error) {
    // the tab stays where it was: its next refresh must not ask for the tenant that refused it
    if (before === null) sessionStorage.removeItem(TAB);
    else sessionStorage.setItem(TAB, before);
    throw error;
  }
}

/** At the start of the page: a cookie of before is exchanged for a token, or the sign-in screen is shown. */
export async function resume(): Promise<void> {
  if (!isRemembered()) return forget();
  try {
    await taken(await exclusively(() => refreshed(own.tenant())));
  } catch (error) {
    // the session may live: it is asked for again when the service answers
    if (isPassing(error)) throw error;
    forget();
    if (error instanceof ApiError && error.mfa) waits(error, error.mfa);
  }
}

/** Ends the session. Where that fails it goes on, and nobody is told that it ended. */
export async function logout(): Promise<void> {
  await endSession();
  sessionStorage.removeItem(TAB);
  forget();
}

/** Forgets everything that the session brought, so that the next person sees nothing of it. */
export function forget(): void {
  token.value = null;
  profile.value = null;
  tenant.value = null;
  meta.value = null;
  scope.value = null;
  startAgain();
  applyAccent(null);
  state.value = "out";
}
