import { at, begin, byId, call, draw, hasPasskeys, hideEmpty, hush, main, makePasskey, on, paint, session } from "./account-api.js";
import { showPasskey, step, tell, told } from "./account-api.js";
import { finish, signIn, way } from "./account-ways.js";
import { t } from "./account-words.js";

const SECTIONS = ["first", "factor", "enrol", "codes", "tenants"];
const asked = main.dataset;
let mfa = null; // the login that waits for its second half
let begun = null; // the factor that is being set up
let tenants = [];

const show = (id) => step(id, SECTIONS);

function again(text) {
  mfa = begun = null;
  byId("password").value = "";
  show("first");
  if (text) tell(text, true);
}

async function entered(result) {
  if (result.availableTenants) tenants = result.availableTenants;
  if (result.recoveryCodes) {
    byId("recovery-codes").textContent = result.recoveryCodes.join("\n");
    byId("enrol-form").hidden = true;
    hush();
    show("codes");
    byId("kept").onclick = () => goOn(result);
    return;
  }
  await goOn(result);
}

async function goOn(result) {
  hush();
  if (!result.requiresTenantSelection) {
    try {
      return await finish(result.token);
    } catch (said) {
      return again(told(said));
    }
  }
  const list = byId("tenant-list");
  list.replaceChildren(
    ...tenants.map((tenant) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "quiet";
      button.textContent = tenant.name;
      button.addEventListener("click", () => choose(tenant.id, result.token));
      return button;
    }),
  );
  show("tenants");
}

async function choose(tenantId, token) {
  try {
    await entered(await way.tenant(tenantId, token));
  } catch (said) {
    refused(said);
  }
}

/** A refusal may be the middle of a login: `mfa` says how it goes on. */
function refused(said) {
  if (said.mfa) return challenged(said);
  if ((said.errors || []).some((error) => error.field === "ticket")) return again(t("say.slow"));
  tell(told(said), true);
}

function challenged(said) {
  mfa = said.mfa;
  hush();
  const can = (method) => mfa.methods.includes(method);
  if (said.errorCode === "MFA_ENROLMENT_REQUIRED") {
    byId("enrol-form").hidden = true;
    byId("enrol-totp").hidden = !can("totp");
    byId("enrol-passkey").hidden = !can("passkey") || !hasPasskeys;
    return show("enrol");
  }
  byId("totp-form").hidden = !can("totp");
  byId("factor-passkey").hidden = !can("passkey") || !hasPasskeys;
  byId("recovery-form").hidden = !can("recovery");
  byId("totp").value = byId("recovery").value = "";
  show("factor");
}

const verify = async (proof) => entered(await signIn("mfa", { ticket: mfa.ticket, ...proof }));

on(
  "password-form",
  async () => {
    const login = { email: byId("email").value, password: byId("password").value, isPasswordEncrypted: false };
    await entered(await signIn("password", login));
  },
  refused,
);
on(
  "passkey",
  async () => {
    const { options, state } = await call("POST", "api/auth/passkeys/begin", { body: {} });
    await entered(await signIn("passkey", { state, response: await showPasskey(options) }));
  },
  refused,
);
on("totp-form", () => verify({ method: "totp", code: byId("totp").value.replace(/\s/g, "") }), refused);
on("recovery-form", () => verify({ method: "recovery", code: byId("recovery").value.trim() }), refused);
on(
  "factor-passkey",
  async () => {
    const { options, state } = await call("POST", "api/auth/mfa/passkey", { body: { ticket: mfa.ticket } });
    await verify({ method: "passkey", state, response: await showPasskey(options) });
  },
  refused,
);
on(
  "enrol-totp",
  async () => {
    begun = await call("POST", "api/auth/mfa/enrol", { body: { ticket: mfa.ticket, kind: "totp" } });
    draw(begun);
    byId("enrol-form").hidden = false;
    byId("enrol-code").focus();
  },
  refused,
);
on(
  "enrol-form",
  async () => {
    const code = byId("enrol-code").value.replace(/\s/g, "");
    await entered(await signIn("enrol", { ticket: mfa.ticket, state: begun.state, code }));
  },
  refused,
);
on(
  "enrol-passkey",
  async () => {
    const { options, state } = await call("POST", "api/auth/mfa/enrol", { body: { ticket: mfa.ticket, kind: "passkey" } });
    await entered(await signIn("enrol", { ticket: mfa.ticket, state, response: await makePasskey(options) }));
  },
  refused,
);
for (const button of document.querySelectorAll(".again")) button.addEventListener("click", () => again(""));

paint();
hideEmpty();
byId("passkey").hidden = !hasPasskeys;
if (asked.outcome) {
  // A login that began at a provider goes on here; its address is of no more use.
  history.replaceState(null, "", at(`account/login${asked.query}`));
  const outcome = JSON.parse(asked.outcome);
  if (outcome.data) entered(outcome.data);
  else refused(outcome);
} else {
  begin(byId("email"));
}
