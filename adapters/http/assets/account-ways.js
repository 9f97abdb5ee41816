// How a login is done and where it ends: at the application that asked for it, by a code; else in the browser's session.
import { at, call, main, remember, session } from "./account-api.js";

const asked = main.dataset;
const forApplication = Boolean(asked.app);
const headers = { "X-App-Id": asked.app };
const PATHS = {
  password: "api/auth/login",
  passkey: "api/auth/passkeys/finish",
  mfa: "api/auth/mfa/verify",
  enrol: "api/auth/mfa/enrol/finish",
};

let latest = ""; // the token of a session that is to enter a tenant, whose answers name no new one

export async function signIn(name, body) {
  const result = forApplication
    ? await call("POST", PATHS[name], { body, headers })
    : await session("", { with: name, ...body });
  latest = result.token;
  return result;
}

export const way = {
  async tenant(tenantId, token) {
    const result = forApplication
      ? await call("POST", "api/auth/switch-tenant", { body: { tenantId }, token })
      : await session("/refresh", { tenantId });
    latest = result.token;
    return result;
  },
};

export async function finish(token) {
  if (!forApplication) {
    remember();
    return location.replace(at(asked.endsAt));
  }
  const body = { redirect: asked.redirect, codeChallenge: asked.challenge };
  const { code } = await call("POST", "api/auth/codes", { body, token: token || latest });
  const answer = new URLSearchParams({ code });
  if (asked.hasState) answer.set("state", asked.state);
  location.replace(`${asked.redirect}${asked.redirect.includes("?") ? "&" : "?"}${answer}`);
}
