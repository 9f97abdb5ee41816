// What the account pages share: calls of our own API, passkeys, messages, and steps of which one is shown.
import { field, t, translated } from "./account-words.js";

export const byId = (id) => document.getElementById(id);
export const main = document.querySelector("main");
// Resolved before anything changes the address: the same page is served below two paths.
export const root = new URL(main.dataset.root, location.href);
export const at = (path) => new URL(path, root).href;

/** The data of an answer, or its whole JSON. A refusal is thrown as it came. */
export async function call(method, path, { body, token, headers = {}, whole = false } = {}) {
  const sent = { ...headers };
  if (token) sent.Authorization = `Bearer ${token}`;
  if (body !== undefined) sent["Content-Type"] = "application/json";
  const answer = await fetch(at(path), { method, headers: sent, body: body && JSON.stringify(body), cache: "no-store" });
  const said = await answer.json();
  if (!answer.ok) throw said;
  return whole ? said : said.data;
}

// What the console looks at before it tries the cookie, and the lock under which its tabs refresh.
const SIGNED_IN = "tenantry.signed-in";
const LOCK = "tenantry.session";

/** A session that the browser keeps in a cookie, out of the reach of scripts. */
export async function session(path, body = {}, token) {
  const ask = () => call("POST", `console/session${path}`, { body, token, headers: { "X-Console": "1" } });
  // A refresh token is used once: tabs that ask at the same time wait for each other.
  const data = await (navigator.locks ? navigator.locks.request(LOCK, ask) : ask());
  remember();
  return data;
}

export const remember = () => localStorage.setItem(SIGNED_IN, "yes");
export const isRemembered = () => localStorage.getItem(SIGNED_IN) !== null;
export const forget = () => localStorage.removeItem(SIGNED_IN);

export const hasPasskeys = Boolean(window.PublicKeyCredential?.parseRequestOptionsFromJSON);

export async function showPasskey(options) {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
  return (await navigator.credentials.get({ publicKey })).toJSON();
}

export async function makePasskey(options) {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
  return (await navigator.credentials.create({ publicKey })).toJSON();
}

export function tell(text, isWrong) {
  const told = byId("told");
  told.textContent = text;
  told.className = isWrong ? "wrong" : "right";
  told.focus();
}

/** Says what is done, with the way to the page for signing in. */
export function tellToSignIn(text, query = "") {
  tell(text, false);
  const link = Object.assign(document.createElement("a"), { href: at(`account/login${query}`), textContent: t("say.sign-in") });
  byId("told").append(" ", link);
}

export function hush() {
  byId("told").textContent = byId("told").className = "";
}

/** What is wrong, in the language of the page. */
export function told(said) {
  if (said instanceof DOMException) return t("say.passkey-unused");
  if (said instanceof Error) return t("say.offline");
  const errors = said.errors || [];
  if (!errors.length) return translated(said.errorMessage || "") || t("say.failed");
  return errors
    .map((error) => t("say.field", { field: field(error.field), message: translated(error.message) ?? t("say.invalid") }))
    .join(" ");
}

/** Calls `act` when the form is sent or the button is pressed, once at a time; `refused` is told what it threw. */
export function on(id, act, refused = (said) => tell(told(said), true)) {
  const element = byId(id);
  // Until now the browser itself would have sent the form, with what was typed in its address.
  for (const button of element.querySelectorAll("button:not([type])")) button.disabled = false;
  element.addEventListener(element.tagName === "FORM" ? "submit" : "click", async (event) => {
    event.preventDefault();
    const button = event.submitter || element;
    button.disabled = true;
    try {
      await act(event);
    } catch (said) {
      await refused(said);
    } finally {
      button.disabled = false;
    }
  });
}

/** Puts the focus into the first field of a page, unless somebody was faster than this script. */
export function begin(field) {
  if (document.activeElement === document.body && field.offsetParent) field.focus();
}

/** Shows one of the sections and puts the focus into it. */
export function step(shown, sections) {
  for (const id of sections) byId(id).hidden = id !== shown;
  const section = byId(shown);
  const first = [...section.querySelectorAll("input, pre, button, a")].find((element) => element.offsetParent);
  first?.focus();
}

export function draw(begun) {
  // An image has to name its language; markup inside a page, which the answer is for as well, need not.
  const markup = begun.qrSvg.replace(/^<svg(?![^>]*xmlns)/, '<svg xmlns="http://www.w3.org/2000/svg"');
  byId("qr").src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(markup)}`;
  byId("secret").textContent = begun.secret;
}

/** Logo and colours of the tenant, where there are some; the policy of the page allows no style in its markup. */
export function paint() {
  const logo = document.querySelector(".logo");
  // A picture that is not there, or is none, leaves no empty place.
  logo?.decode().catch(() => {
    logo.hidden = true;
  });
  const { color, textColor } = main.dataset;
  if (!color) return;
  main.style.setProperty("--accent", color);
  main.style.setProperty("--on-accent", textColor);
}

export function hideEmpty() {
  for (const element of document.querySelectorAll(".to, .support")) {
    element.hidden = !element.querySelector("b, a").textContent;
  }
}
