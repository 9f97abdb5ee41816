// Who is signed in, in this tab. The access token lives in this module's memory; the refresh token in a cookie that
// no script can read. Another tab may be in another tenant.
import { computed, signal } from "@preact/signals";
import { ApiError, type Challenge, call, hooks, isPassing } from "../api/api";
import { entityOf, loadMeta, meta, scope } from "../api/meta";
import type { LoginResult, NewRecoveryCodes, Profile, RefreshResult, Tenant, TenantName } from "../api/types";
import { t } from "../words/words";
import { type BegunPasskey, type Shown, showPasskey } from "./passkeys";
import { go, href, unsaved } from "./routes";
import { applyAccent } from "./theme";

/** What the routes of the session answer: a result of the public API without its refresh token. */
type TokenResult = Omit<RefreshResult, "refreshToken" | "permissions" | "tokenType"> &
  Partial<Pick<LoginResult, "mustChangePassword" | "requiresTenantSelection" | "availableTenants"> & NewRecoveryCodes>;

interface Claims {
  sub: string;
  sid?: string;
  tenant_id?: string;
  permissions?: string[];
}

export type State = "starting" | "offline" | "out" | "choosing" | "in";
export const state = signal<State>("starting");
export const profile = signal<Profile | null>(null);
export const tenant = signal<Tenant | null>(null);
export const choices = signal<TenantName[]>([]);
export const mustChangePassword = signal(false);

const token = signal<string | null>(null);
const claims = computed<Claims | null>(() => (token.value ? decoded(token.value) : null));
export const permissions = computed(() => claims.value?.permissions ?? []);
export const tenantId = computed(() => claims.value?.tenant_id ?? null);
export const userId = computed(() => claims.value?.sub ?? null);

hooks.token = () => token.peek();
// identity has no other tenant than that of the token: the header is for rows
hooks.scope = (path) => (entityOf(path.split("/")[2] ?? "") ? (scope.peek()?.id ?? null) : null);
hooks.renew = () => renew();

/** Whether the token holds a permission, by itself or by a wildcard: `*`, `read:*`. */
export function may(permission: string): boolean {
  const held = permissions.value;
  const [action, resource] = permission.split(":");
  return [permission, `${action}:*`, `*:${resource}`, "*"].some((name) => held.includes(name));
}

function decoded(text: string): Claims {
  const part = (text.split(".")[1] ?? "").replace(/-/g, "+").replace(/_/g, "/");
  const bytes = Uint8Array.from(atob(part), (char) => char.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(bytes));
}

/** The tenant of this tab is remembered over a reload: its id alone, and for this tab alone. */
const TAB = "tenantry.tenant";
/** Says only that there may be a cookie: without it, no refresh is tried that could only fail. */
const SIGNED_IN = "tenantry.signed-in";
const remembered = () => sessionStorage.getItem(TAB);

async function post(path: string, json: unknown): Promise<TokenResult> {
  const headers = { "X-Console": "1" };
  return (await call<TokenResult>("POST", path, { json, headers, isAnonymous: true })).data;
}

async function taken(result: TokenResult): Promise<void> {
  token.value = result.token;
  localStorage.setItem(SIGNED_IN, "yes");
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

/** Set while a login waits for a second factor. */
export const challenge = signal<Challenge | null>(null);

export async function login(email: string, password: string): Promise<void> {
  mustChangePassword.value = false;
  await started(() => post("/console/session", { with: "password", email, password, isPasswordEncrypted: false }));
}

/** A passkey that the account has. With `signal` the browser waits until one is chosen at a field. */
export async function choosePasskey(signal?: AbortSignal): Promise<Shown> {
  const options = { json: {}, isAnonymous: true, signal };
  const { data } = await call<BegunPasskey>("POST", "/api/auth/passkeys/begin", options);
  return showPasskey(data, signal);
}

/** A passkey alone: it is both factors at once. */
export async function passkeyLogin(shown: Shown): Promise<void> {
  mustChangePassword.value = false;
  await started(() => post("/console/session", { with: "passkey", ...shown }));
}

/** A passkey as the second factor of the login that waits. */
export async function passkeySecond(): Promise<void> {
  const ticket = challenge.peek()?.ticket;
  const options = { json: { ticket }, isAnonymous: true };
  const shown = await showPasskey((await call<BegunPasskey>("POST", "/api/auth/mfa/passkey", options)).data);
  await started(() => post("/console/session", { with: "mfa", ticket, method: "passkey", ...shown }));
}

/** Six digits are of an app, anything else is a recovery code. */
export async function showCode(code: string): Promise<void> {
  const typed = code.replace(/\s/g, "");
  const method = /^\d{6}$/.test(typed) ? "totp" : "recovery";
  await started(() => post("/console/session", { with: "mfa", ticket: challenge.peek()?.ticket, method, code: typed }));
}

/** Recovery codes of a factor that was set up while signing in: shown once, as soon as there is a screen. */
export const newCodes = signal<string[] | null>(null);

/** Ends what `POST /api/auth/mfa/enrol` began: the code of the new app, or the new passkey, finishes the login too. */
export async function enrol(shown: { state: string; code?: string; response?: unknown }): Promise<void> {
  await started(async () => {
    const result = await post("/console/session", { with: "enrol", ticket: challenge.peek()?.ticket, ...shown });
    newCodes.value = result.recoveryCodes ?? null;
    return result;
  });
}

async function started(ask: () => Promise<TokenResult>): Promise<void> {
  try {
    const result = await ask();
    challenge.value = null;
    await taken(result);
  } catch (error) {
    if (!(error instanceof ApiError && error.mfa)) throw error;
    waits(error, error.mfa);
  }
}

function waits(error: ApiError, asked: Challenge): void {
  challenge.value = { ...asked, isEnrolment: error.code === "MFA_ENROLMENT_REQUIRED" };
  state.value = "out";
}

/** Shows anew that it is still the same person: the tokens of the same session get a new time of proof. */
export async function reauthenticate(proof: { password: string } | { code: string } | Shown): Promise<void> {
  const json = "password" in proof ? { ...proof, isPasswordEncrypted: false } : proof;
  const headers = { "X-Console": "1" };
  const result = await exclusively(() =>
    call<TokenResult>("POST", "/console/session/reauthenticate", { json, headers }),
  );
  ensureSame(result.data.token);
  token.value = result.data.token;
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
  if (!localStorage.getItem(SIGNED_IN)) return forget();
  try {
    await taken(await exclusively(() => refreshed(remembered())));
  } catch (error) {
    // the session may live: it is asked for again when the service answers
    if (isPassing(error)) throw error;
    forget();
    if (error instanceof ApiError && error.mfa) waits(error, error.mfa);
  }
}

/** A fresh token for this tab's tenant; false, and the sign-in screen, where the session is over. */
let renewing: Promise<boolean> | null = null;
function renew(): Promise<boolean> {
  const used = token.peek();
  renewing ??= exclusively(async () => {
    try {
      token.value = (await refreshed(remembered() ?? tenantId.peek())).token;
      return token.peek() !== used;
    } catch (error) {
      if (!(error instanceof ApiError) || isPassing(error)) return false;
      if (error.code === STRANGER) throw error;
      // what is typed stays on the screen: whoever signs in again in another tab saves it here
      if (unsaved.size) throw new ApiError(401, "SESSION_ENDED", t("session.ended"));
      forget();
      // the tenant asks for a second factor now: the session goes on once it is shown or set up
      if (error.mfa) waits(error, error.mfa);
      return false;
    }
  }).finally(() => {
    renewing = null;
  });
  return renewing;
}

const STRANGER = "SESSION_OF_ANOTHER";

/** Security: where somebody else signed in in another tab, what is open and typed here is not theirs. */
function ensureSame(fresh: string): void {
  if (userId.peek() && decoded(fresh).sub !== userId.peek()) throw new ApiError(401, STRANGER, t("session.stranger"));
}

async function refreshed(id: string | null): Promise<TokenResult> {
  let result = await post("/console/session/refresh", id ? { tenantId: id } : {});
  ensureSame(result.token);
  // another tab's refresh may have answered with its own tenant: this tab asks again with its own
  if (id && decoded(result.token).tenant_id !== id) result = await post("/console/session/refresh", { tenantId: id });
  return result;
}

/** One refresh at a time over all tabs: a refresh token is used once. */
async function exclusively<T>(work: () => Promise<T>): Promise<T> {
  return navigator.locks ? navigator.locks.request("tenantry.session", work) : work();
}

/** Ends the session. Where that fails it goes on, and nobody is told that it ended. */
export async function logout(): Promise<void> {
  const options = { headers: { "X-Console": "1" }, isAnonymous: true };
  try {
    await call("DELETE", "/console/session", options);
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 401)) throw error;
  }
  sessionStorage.removeItem(TAB);
  localStorage.removeItem(SIGNED_IN);
  forget();
}

/** Forgets everything that the session brought, so that the next person sees nothing of it. */
export function forget(): void {
  token.value = null;
  profile.value = null;
  tenant.value = null;
  meta.value = null;
  scope.value = null;
  choices.value = [];
  challenge.value = null;
  newCodes.value = null;
  applyAccent(null);
  state.value = "out";
}
