// Does what a link in a mail is for. What stands behind its # goes to our own API and nowhere else, once asked to.
import { byId, call, hush, on, tell, tellToSignIn, told } from "./account-api.js";
import { t } from "./account-words.js";

const act = byId("act");
const again = byId("again");
const isReset = act.dataset.post === "reset-password";
let link = new URLSearchParams();

function readLink() {
  link = new URLSearchParams(location.hash.slice(1));
  history.replaceState(null, "", location.pathname);
  const isWhole = link.has("email") && link.has("token");
  act.hidden = !isWhole;
  again.hidden = isWhole;
  hush();
  byId("email").value = link.get("email") || "";
  if (isReset) byId("username").value = link.get("email") || "";
  else byId("whose").textContent = link.get("email") || "";
}

async function post(form, body) {
  await call("POST", `api/auth/${form.dataset.post}`, { body });
  form.hidden = true;
  if (form === act) again.hidden = true;
  if (form === act) tellToSignIn(t(form.dataset.done));
  else tell(t(form.dataset.done), false);
}

function refused(said) {
  if (!(said.errors || []).some((error) => error.field === "token")) return tell(told(said), true);
  act.hidden = true;
  again.hidden = false;
  tell(t("say.dead-link"), true);
}

on(
  "act",
  () => {
    const body = { email: link.get("email"), token: link.get("token") };
    if (!isReset) return post(act, body);
    const newPassword = byId("password").value;
    if (newPassword !== byId("repeated").value) return tell(t("say.differ"), true);
    return post(act, { ...body, newPassword, isPasswordEncrypted: false });
  },
  refused,
);
on("again", () => post(again, { email: byId("email").value }), refused);

// A link that was put there before the script was is read below, and told of only then.
addEventListener("hashchange", () => location.hash && readLink());
readLink();
