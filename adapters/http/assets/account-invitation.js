// Shows what an invitation's link is for, and answers it. What stands behind its # goes to our own API and nowhere else.
import { at, byId, call, hush, isRemembered, on, session, tell, tellToSignIn, told } from "./account-api.js";
import { day, t } from "./account-words.js";

const KEPT = "tenantry.invitation"; // while its reader signs in on the other page

let token = "";
let bearer = ""; // of the session that the browser has with the invited address

const post = (path, body, bearer) => call("POST", `api/auth/${path}`, { body, token: bearer });

function refused(said) {
  if (!(said.errors || []).some((error) => error.field === "token")) return tell(told(said), true);
  byId("offer").hidden = true;
  tell(t("say.dead-invitation"), true);
}

async function show() {
  token = new URLSearchParams(location.hash.slice(1)).get("token") || sessionStorage.getItem(KEPT) || "";
  sessionStorage.removeItem(KEPT);
  history.replaceState(null, "", location.pathname);
  byId("offer").hidden = true;
  if (!token) return tell(t("say.no-invitation"), true);
  try {
    const offer = await post("invitations/preview", { token });
    byId("inviter").textContent = offer.invitedBy;
    byId("tenant").textContent = offer.tenant.name;
    byId("email").textContent = byId("username").value = byId("known").value = offer.email;
    byId("ends").dateTime = offer.expiresAt;
    byId("ends").textContent = day(offer.expiresAt, "long");
    bearer = offer.accountExists ? await signedIn(offer.email) : "";
    byId("register").hidden = offer.accountExists;
    byId("login").hidden = byId("other").hidden = !offer.accountExists || Boolean(bearer);
    byId("join").hidden = !bearer;
    byId("offer").hidden = false;
    hush();
  } catch (said) {
    refused(said);
  }
}

/** The token of the browser's session, if it is that of this address. */
async function signedIn(email) {
  if (!isRemembered()) return "";
  try {
    const { token: found } = await session("/refresh");
    const me = await call("GET", "api/auth/me", { token: found });
    return me.email.toLowerCase() === email.toLowerCase() ? found : "";
  } catch {
    return "";
  }
}

/** Passkeys, second factors and accounts elsewhere are asked for on the page for signing in, which leads back here. */
function elsewhere() {
  sessionStorage.setItem(KEPT, token);
  location.assign(at("account/login?then=invitation"));
}

/** Ends the session of a login that served for this page alone: nobody keeps its tokens, and its user would see it. */
async function leave({ token: access }) {
  const claims = access.split(".")[1].replace(/-/g, "+").replace(/_/g, "/");
  try {
    await call("DELETE", `api/auth/sessions/${JSON.parse(atob(claims)).sid}`, { token: access });
  } catch {
    // It ends by itself, and the invitation is accepted all the same.
  }
}

function done(text, isMember = true) {
  byId("offer").hidden = true;
  if (isMember) tellToSignIn(text);
  else tell(text, false);
}

on(
  "register",
  async () => {
    const password = byId("password").value;
    if (password !== byId("repeated").value) return tell(t("say.differ"), true);
    try {
      const form = { token, fullName: byId("name").value, password, isPasswordEncrypted: false };
      await leave(await post("invitations/accept", form));
    } catch (said) {
      // The account is made: where a second factor is required, it is set up with the first sign-in.
      if (!said.mfa) throw said;
    }
    done(t("say.joined-new"));
  },
  refused,
);
on(
  "login",
  async () => {
    const login = { email: byId("known").value, password: byId("current").value, isPasswordEncrypted: false };
    let entered;
    try {
      entered = await post("login", login);
    } catch (said) {
      if (said.mfa) return elsewhere();
      throw said;
    }
    try {
      await post("invitations/accept", { token }, entered.token);
    } finally {
      await leave(entered);
    }
    done(t("say.joined"));
  },
  refused,
);
on("elsewhere", elsewhere);
on(
  "join",
  async () => {
    await post("invitations/accept", { token }, bearer);
    done(t("say.joined"));
  },
  refused,
);
on(
  "decline",
  async () => {
    await post("invitations/decline", { token });
    done(t("say.declined"), false);
  },
  refused,
);

// A link that was put there before the script was is read below, and told of only then.
addEventListener("hashchange", () => location.hash && show());
show();
