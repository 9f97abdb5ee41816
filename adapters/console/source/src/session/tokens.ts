// The session of this tab: the access token lives in this module's memory, the refresh token in a cookie that no script
// can read. The console and the page of one's account use it.
import { computed, signal } from "@preact/signals";
import { ApiError, call, hooks, isPassing } from "../api/api";
import type { LoginResult, NewRecoveryCodes, RefreshResult } from "../api/types";
import { t } from "../words/words";
import type { Shown } from "./passkeys";

/** A login or a refresh; the routes of the session answer it without the refresh token. */
export type TokenResult = Omit<RefreshResult, "refreshToken" | "permissions" | "tokenType"> &
  Partial<Pick<LoginResult, "mustChangePassword" | "requiresTenantSelection" | "availableTenants"> & NewRecoveryCodes>;

interface Claims {
  sub: string;
  sid?: string;
  tenant_id?: string;
  permissions?: string[];
}

export const token = signal<string | null>(null);
const claims = computed<Claims | null>(() => (token.value ? decoded(token.value) : null));
export const permissions = computed(() => claims.value?.permissions ?? []);
export const tenantId = computed(() => claims.value?.tenant_id ?? null);
export const userId = computed(() => claims.value?.sub ?? null);

/** What the console and the page of one's account decide for themselves. */
export const own = {
  /** The tenant that the tab asks its tokens for. */
  tenant: (): string | null => null,
  /** The session is over, or of another user by now. */
  ended: (error: ApiError): unknown => {
    throw error;
  },
};

hooks.token = () => token.peek();
hooks.renew = () => renew();

export function decoded(text: string): Claims {
  const part = (text.split(".")[1] ?? "").replace(/-/g, "+").replace(/_/g, "/");
  const bytes = Uint8Array.from(atob(part), (char) => char.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(bytes));
}

/** Says only that there may be a cookie: without it, no refresh is tried that could only fail. */
const SIGNED_IN = "tenantry.signed-in";
export const remember = () => localStorage.setItem(SIGNED_IN, "yes");
export const forgetSession = () => localStorage.removeItem(SIGNED_IN);
export const isRemembered = () => localStorage.getItem(SIGNED_IN) !== null;

const headers = { "X-Console": "1" };

export async function post(path: string, json: unknown): Promise<TokenResult> {
  return (await call<TokenResult>("POST", `/console/session${path}`, { json, headers, isAnonymous: true })).data;
}

let renewing: Promise<boolean> | null = null;

/** A fresh token for this tab's tenant; false where the session is over. */
function renew(): Promise<boolean> {
  const used = token.peek();
  renewing ??= exclusively(async () => {
    try {
      token.value = (await refreshed(own.tenant() ?? tenantId.peek())).token;
      return token.peek() !== used;
    } catch (error) {
      if (!(error instanceof ApiError) || isPassing(error)) return false;
      await own.ended(error);
      return false;
    }
  }).finally(() => {
    renewing = null;
  });
  return renewing;
}

export const STRANGER = "SESSION_OF_ANOTHER";

/** Security: where another user signed in in another tab, what is open and typed here is not theirs. */
function ensureSame(fresh: string): void {
  if (userId.peek() && decoded(fresh).sub !== userId.peek()) throw new ApiError(401, STRANGER, t("session.stranger"));
}

export async function refreshed(id: string | null): Promise<TokenResult> {
  let result = await post("/refresh", id ? { tenantId: id } : {});
  ensureSame(result.token);
  // another tab's refresh may have answered with its own tenant: this tab asks again with its own
  if (id && decoded(result.token).tenant_id !== id) result = await post("/refresh", { tenantId: id });
  return result;
}

/** One refresh at a time over all tabs: a refresh token is used once. */
export async function exclusively<T>(work: () => Promise<T>): Promise<T> {
  return navigator.locks ? navigator.locks.request("tenantry.session", work) : work();
}

/** Shows again that it is still the same person: the tokens of the same session get a new time of proof. */
export async function reauthenticate(proof: { password: string } | { code: string } | Shown): Promise<void> {
  const json = "password" in proof ? { ...proof, isPasswordEncrypted: false } : proof;
  const result = await exclusively(() =>
    call<TokenResult>("POST", "/console/session/reauthenticate", { json, headers }),
  );
  ensureSame(result.data.token);
  token.value = result.data.token;
}

/** Ends the session. Where that fails it goes on, and nobody is told that it ended. */
export async function endSession(): Promise<void> {
  try {
    await call("DELETE", "/console/session", { headers, isAnonymous: true });
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 401)) throw error;
  }
  forgetSession();
}
