// How a login on these pages is sent and where it ends: at the application, by a one-time code; else in this browser.
import { address, call } from "../api/api";
import { errorText } from "../parts/Toast";
import { exclusively, post, refreshed, remember, type TokenResult } from "../session/tokens";
import { choices, type Kind, startAgain, started, way } from "../signin/login";
import { page } from "./page";

const PATHS: Record<Kind, string> = {
  password: "/api/auth/login",
  passkey: "/api/auth/passkeys/finish",
  mfa: "/api/auth/mfa/verify",
  enrol: "/api/auth/mfa/enrol/finish",
};

/** The token of a login that chooses its tenant. */
let token = "";

/** A request with a token that nothing renews: the session of an application has no cookie here. */
export async function callAs<T>(bearer: string, method: string, path: string, json?: unknown): Promise<T> {
  const headers = { Authorization: `Bearer ${bearer}` };
  return (await call<T>(method, path, { json, headers, isAnonymous: true })).data;
}

way.signIn = async (kind, body) => {
  if (!page.target) return post("", { with: kind, ...body });
  const options = { json: body, headers: { "X-App-Id": page.target.app }, isAnonymous: true };
  return (await call<TokenResult>("POST", PATHS[kind], options)).data;
};

way.enter = (tenantId) =>
  started(() =>
    page.target
      ? callAs<TokenResult>(token, "POST", "/api/auth/switch-tenant", { tenantId })
      : exclusively(() => refreshed(tenantId)),
  );

way.taken = async (result) => {
  if (result.requiresTenantSelection) {
    token = result.token;
    choices.value = result.availableTenants ?? [];
    return;
  }
  try {
    await finish(result.token);
  } catch (error) {
    startAgain(errorText(error));
  }
};

way.waits = () => {};

export async function finish(bearer: string): Promise<void> {
  if (!page.target) {
    remember();
    return location.replace(address(page.endsAt));
  }
  const { redirect, challenge, state } = page.target;
  const body = { redirect, codeChallenge: challenge };
  const { code } = await callAs<{ code: string }>(bearer, "POST", "/api/auth/codes", body);
  const answer = new URLSearchParams(state === null ? { code } : { code, state });
  location.replace(`${redirect}${redirect.includes("?") ? "&" : "?"}${answer}`);
}
