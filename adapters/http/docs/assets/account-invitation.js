// Shows what an invitation's link is for, and answers it. What stands behind its # goes to our own API and nowhere else.
import { byId, call, hush, on, tell, told } from "./account-api.js";
import { day, t } from "./account-words.js";

let token = "";

const post = (path, body, bearer) => call("POST", `api/auth/${path}`, { body, token: bearer });

function refused(said) {
  if (!(said.errors || []).some((error) => error.field === "token")) return tell(told(said), true);
  byId("offer").hidden = true;
  tell(t("say.dead-invitation"), true);
}

async function show() {
  token = new URLSearchParams(location.hash.slice(1)).get("token") || "";
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
    byId("register").hidden = offer.accountExists;
    byId("login").hidden = !offer.accountExists;
    byId("offer").hidden = false;
    hush();
  } catch (said) {
    refused(said);
  }
}

function done(text) {
  byId("offer").hidden = true;
  tell(text, false);
}

on(
  "register",
  async () => {
    const password = byId("password").value;
    if (password !== byId("repeated").value) return tell(t("say.differ"), true);
    await post("invitations/accept", { token, fullName: byId("name").value, password, isPasswordEncrypted: false });
    done(t("say.joined-new"));
  },
  refused,
);
on(
  "login",
  async () => {
    const login = { email: byId("known").value, password: byId("current").value, isPasswordEncrypted: false };
    const session = await post("login", login);
    await post("invitations/accept", { token }, session.token);
    done(t("say.joined"));
  },
  refused,
);
on(
  "decline",
  async () => {
    await post("invitations/decline", { token });
    done(t("say.declined"));
  },
  refused,
);

addEventListener("hashchange", show);
show();
