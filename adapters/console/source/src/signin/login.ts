// A login, step by step: what was shown so far, and what it waits for. `way` says how it is sent and where it ends: in
// the console, or on the account pages at an application.
import { signal } from "@preact/signals";
import { ApiError, type Challenge, call } from "../api/api";
import type { TenantName } from "../api/types";
import { type BegunPasskey, type Shown, showPasskey } from "../session/passkeys";
import type { TokenResult } from "../session/tokens";
import { t } from "../words/words";

export type Kind = "password" | "passkey" | "mfa" | "enrol";

interface Way {
  signIn: (kind: Kind, body: object) => Promise<TokenResult>;
  /** Goes into one of several tenants. */
  enter: (tenantId: string) => Promise<void>;
  /** Goes on with a login that is proved: to the choice of a tenant, or to its end. */
  taken: (result: TokenResult) => Promise<void>;
  /** A login, or a session that enters a tenant, waits for a second factor. */
  waits: () => void;
}

/** Set by session.ts of the console and by way.ts of the account pages. */
export const way = {} as Way;

/** Set while a login waits for a second factor. */
export const challenge = signal<Challenge | null>(null);
/** Tenants to choose from; null where there is nothing to choose. */
export const choices = signal<TenantName[] | null>(null);
/** Recovery codes of a factor that was set up for this login: shown once, before it goes on. */
export const newCodes = signal<string[] | null>(null);
/** Why a login has to begin again. */
export const setback = signal("");

let proved: TokenResult | null = null;

/** Back to the first step. */
export function startAgain(reason = ""): void {
  challenge.value = null;
  choices.value = null;
  newCodes.value = null;
  setback.value = reason;
}

export const login = (email: string, password: string) =>
  started(() => way.signIn("password", { email, password, isPasswordEncrypted: false }));

/** A passkey that the account has. With `signal` the browser waits until one is chosen at a field. */
export async function choosePasskey(signal?: AbortSignal): Promise<Shown> {
  const options = { json: {}, isAnonymous: true, signal };
  const { data } = await call<BegunPasskey>("POST", "/api/auth/passkeys/begin", options);
  return showPasskey(data, signal);
}

/** A passkey alone: it is both factors at once. */
export const passkeyLogin = (shown: Shown) => started(() => way.signIn("passkey", shown));

const ticket = () => challenge.peek()?.ticket;

/** A passkey as the second factor of the login that waits. */
export const passkeySecond = () =>
  started(async () => {
    const options = { json: { ticket: ticket() }, isAnonymous: true };
    const shown = await showPasskey((await call<BegunPasskey>("POST", "/api/auth/mfa/passkey", options)).data);
    return way.signIn("mfa", { ticket: ticket(), method: "passkey", ...shown });
  });

/** A code of an app or a recovery code as the second factor. */
export const showCode = (method: "totp" | "recovery", typed: string) =>
  started(() => way.signIn("mfa", { ticket: ticket(), method, code: typed.replace(/\s/g, "") }));

/** What a new factor begins with: the secret of an app, or what a passkey is made of. */
export async function beginFactor<T>(kind: "totp" | "passkey"): Promise<T | null> {
  const options = { json: { ticket: ticket(), kind }, isAnonymous: true };
  try {
    return (await call<T>("POST", "/api/auth/mfa/enrol", options)).data;
  } catch (error) {
    refused(error);
    return null;
  }
}

/** Ends what `beginFactor` began: the code of the new app, or the new passkey, finishes the login too. */
export const enrol = (shown: { state: string; code?: string; response?: unknown }) =>
  started(() => way.signIn("enrol", { ticket: ticket(), ...shown }));

/** Takes a step. A refusal may be the middle of a login: it says what the login waits for. */
export async function started(ask: () => Promise<TokenResult>): Promise<void> {
  try {
    await goOn(await ask());
  } catch (error) {
    refused(error);
  }
}

/** Raises what a step was refused with, unless it says how the login goes on. */
export function refused(error: unknown): void {
  if (!(error instanceof ApiError)) throw error;
  if (error.mfa) waits(error, error.mfa);
  else if (error.fields.some(({ field }) => field === "ticket")) startAgain(t("login.slow"));
  else throw error;
}

export function waits(error: ApiError, asked: Challenge): void {
  challenge.value = { ...asked, isEnrolment: error.code === "MFA_ENROLMENT_REQUIRED" };
  way.waits();
}

export async function goOn(result: TokenResult): Promise<void> {
  challenge.value = null;
  setback.value = "";
  if (!result.recoveryCodes) return way.taken(result);
  proved = result;
  newCodes.value = result.recoveryCodes;
}

/** Goes on with the login once its recovery codes are kept. */
export async function keptCodes(): Promise<void> {
  if (proved) await way.taken(proved);
  proved = null;
  newCodes.value = null;
}
