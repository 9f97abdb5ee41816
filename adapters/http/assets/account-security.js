import { at, byId, call, draw, forget, hasPasskeys, hush, makePasskey, on, session, showPasskey, tell, tellToSignIn, told } from "./account-api.js";
import { day, number, t } from "./account-words.js";

let token = "";
let person = null;
let again = null; // what waits for a recent proof
let begun = null;

const NO_SESSION = ["TOKEN_EXPIRED", "TOKEN_INVALID", "UNAUTHORIZED"];

/** Calls with the token, and once more with a new one where it has ended: the page may have been open for an hour. */
async function api(method, path, body, whole = false) {
  const ask = () => call(method, `api/auth/${path}`, { body, token, whole });
  try {
    return await ask();
  } catch (said) {
    if (said.errorCode !== "TOKEN_EXPIRED") throw said;
    await renew();
    return await ask();
  }
}

const subject = (signed) => JSON.parse(atob(signed.split(".")[1].replace(/-/g, "+").replace(/_/g, "/"))).sub;

async function renew() {
  const before = subject(token);
  try {
    ({ token } = await session("/refresh"));
  } catch (said) {
    if (NO_SESSION.includes(said.errorCode)) leave();
    throw said;
  }
  // Somebody else signed in with this browser meanwhile: nothing of the page is theirs.
  if (subject(token) !== before) {
    location.reload();
    await new Promise(() => {}); // the page ends here
  }
}

function leave() {
  forget();
  location.replace(at("account/login?then=security"));
}

/** Acts, and acts again once a recent proof was shown where one is asked for. */
async function proved(act) {
  try {
    await act();
  } catch (said) {
    if (said.errorCode !== "REAUTHENTICATION_REQUIRED") throw said;
    again = act;
    askForProof();
  }
}

function askForProof() {
  const kinds = person.factors.map((factor) => factor.kind);
  const byCode = kinds.includes("totp");
  byId("proof-form").hidden = kinds.length > 0 && !byCode;
  byId("proof-passkey").hidden = !kinds.includes("passkey") || !hasPasskeys;
  byId("proof-label").textContent = byCode ? t("say.app-code") : t("say.password");
  const value = byId("proof-value");
  value.type = byCode ? "text" : "password";
  value.autocomplete = byCode ? "one-time-code" : "current-password";
  value.value = "";
  byId("proof").hidden = false;
  hush();
  (byId("proof-form").hidden ? byId("proof-passkey") : value).focus();
}

async function showProof(body) {
  ({ token } = await session("/reauthenticate", body, token));
  byId("proof").hidden = true;
  await again();
}

on("proof-form", () => {
  const value = byId("proof-value").value;
  return showProof(byId("proof-value").type === "text" ? { code: value.trim() } : { password: value, isPasswordEncrypted: false });
});
on("proof-passkey", async () => {
  const { options, state } = await api("POST", "reauthenticate/passkey", {});
  await showProof({ state, response: await showPasskey(options) });
});
on("proof-cancel", () => {
  byId("proof").hidden = true;
  tell(t("say.nothing"), false);
});

const KINDS = { totp: t("say.totp"), passkey: t("say.passkey") };

function row(title, details, name, act) {
  const item = document.createElement("li");
  const text = document.createElement("div");
  const strong = document.createElement("b");
  strong.textContent = title;
  const more = document.createElement("span");
  more.textContent = details;
  text.append(strong, more);
  item.append(text);
  if (act) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "quiet";
    button.textContent = name;
    button.setAttribute("aria-label", `${name}: ${title}`);
    button.addEventListener("click", () => proved(act).catch((said) => tell(told(said), true)));
    item.append(button);
  }
  return item;
}

async function refresh() {
  // One after the other: the pages are to stay within the limits of everybody.
  const profile = await api("GET", "me?include=profile");
  const { factors, recoveryCodesLeft } = await listed();
  const sessions = (await api("GET", "sessions")).items;
  person = { profile, factors };
  byId("who").textContent = profile.fullName;
  byId("whose").textContent = byId("username").value = profile.email;
  byId("factors").replaceChildren(...factors.map(factorRow));
  byId("codes-left").textContent = factors.length
    ? t("say.codes-left", { count: number(recoveryCodesLeft) })
    : t("say.no-factors");
  byId("new-codes").hidden = factors.length === 0;
  byId("add-passkey").hidden = !hasPasskeys;
  byId("sessions").replaceChildren(...sessions.map(sessionRow));
  const identities = await api("GET", "identities");
  byId("identities").replaceChildren(
    ...identities.map((linked) =>
      row(linked.provider, t("say.linked-on", { day: day(linked.linkedAt) }), t("say.unlink"), async () => {
        await api("DELETE", `identities/${linked.provider}`);
        await refresh();
        tell(t("say.unlinked"), false);
      }),
    ),
  );
  byId("no-identities").hidden = identities.length > 0;
}

async function listed() {
  const said = await api("GET", "factors", undefined, true);
  return { factors: said.data, recoveryCodesLeft: said.recoveryCodesLeft };
}

function factorRow(factor) {
  const used = factor.lastUsedAt ? t("say.used-on", { day: day(factor.lastUsedAt) }) : t("say.unused");
  const added = t("say.added-on", { day: day(factor.createdAt), used });
  // The service calls factors by their kind, in English, where nobody named them.
  const isNamed = !/^(authenticator app|passkey|)$/i.test(factor.name);
  const title = isNamed ? `${KINDS[factor.kind]} ${factor.name}` : KINDS[factor.kind];
  return row(title, added, t("say.remove"), async () => {
    await api("DELETE", `factors/${factor.id}`);
    await refresh();
    tell(t("say.removed"), false);
  });
}

// The more particular names first: most browsers claim to be Chrome and Safari as well.
const BROWSERS = { Edge: /\bEdg/, Opera: /\bOPR\//, Firefox: /\bF(irefox|xiOS)\//, Chrome: /Chrome\/|\bCriOS\//, Safari: /\bSafari\// };
const SYSTEMS = { iPhone: /\biPhone\b/, iPad: /\biPad\b/, Android: /\bAndroid\b/, Windows: /\bWindows\b/, macOS: /\bMac OS X\b/, Linux: /\bLinux\b|\bX11\b/ };

/** `Firefox · Windows`; what is no browser keeps the words that it sent. */
function deviceOf(sent) {
  const named = (names) => Object.keys(names).find((name) => names[name].test(sent));
  const [browser, system] = [named(BROWSERS), named(SYSTEMS)];
  return browser && system ? `${browser} · ${system}` : sent;
}

function sessionRow(living) {
  const title = deviceOf(living.device) || t("say.unknown-device");
  if (living.isCurrent) return row(title, t("say.this-session", { address: living.address }));
  const used = t("say.last-used", { address: living.address, day: day(living.lastUsedAt) });
  return row(title, used, t("say.sign-out"), async () => {
    await api("DELETE", `sessions/${living.id}`);
    await refresh();
    tell(t("say.session-ended"), false);
  });
}

async function added(result, text) {
  byId("totp-form").hidden = true;
  // Codes of a moment ago stay: they are shown once, and may not be kept yet.
  if (result.recoveryCodes) {
    byId("codes").hidden = false;
    byId("recovery-codes").textContent = result.recoveryCodes.join("\n");
  }
  await refresh();
  tell(text, false);
}

on("add-totp", () =>
  proved(async () => {
    begun = await api("POST", "factors/totp/begin", {});
    draw(begun);
    byId("totp").value = "";
    byId("totp-form").hidden = false;
    byId("totp").focus();
  }),
);
on("totp-form", () =>
  proved(async () => {
    const code = byId("totp").value.replace(/\s/g, "");
    await added(await api("POST", "factors/totp/finish", { state: begun.state, code }), t("say.app-added"));
  }),
);
on("add-passkey", () =>
  proved(async () => {
    const { options, state } = await api("POST", "factors/passkeys/begin", {});
    const response = await makePasskey(options);
    await added(await api("POST", "factors/passkeys/finish", { state, response }), t("say.passkey-added"));
  }),
);
on("new-codes", () =>
  proved(async () => added(await api("POST", "factors/recovery-codes", {}), t("say.new-codes"))),
);
on("everywhere", async () => {
  await api("POST", "logout");
  leave();
});
on("password-form", async () => {
  if (byId("new").value !== byId("repeated").value) return tell(t("say.differ"), true);
  const body = { currentPassword: byId("current").value, newPassword: byId("new").value, isPasswordEncrypted: false };
  await api("POST", "change-password", body);
  byId("account").hidden = true;
  tellToSignIn(t("say.password-set"), "?then=security");
});
on("sign-out", async () => {
  try {
    await call("DELETE", "console/session", { headers: { "X-Console": "1" } });
  } catch (said) {
    if (!NO_SESSION.includes(said.errorCode)) throw said;
  }
  leave();
});

try {
  ({ token } = await session("/refresh"));
  await refresh();
  byId("account").hidden = false;
} catch (said) {
  // Nobody is signed in here, or has not chosen a tenant in time.
  if (said.errorCode) leave();
  else tell(told(said), true);
}
