// Passkeys of this browser, asked for and made by what the service says in JSON.
import type { Begun } from "../api/types";
import { t } from "../words/words";

type Static = typeof PublicKeyCredential & {
  isConditionalMediationAvailable?: () => Promise<boolean>;
};
type Options = Record<string, unknown>;

export type BegunPasskey = Required<Pick<Begun, "state" | "options">>;

export interface Shown {
  state: string;
  response: unknown;
}

const known = (): Static | undefined => (typeof PublicKeyCredential === "undefined" ? undefined : PublicKeyCredential);

/** Whether this browser knows passkeys in JSON (Chrome 129, Firefox 119, Safari 18.4, and later). */
export const hasPasskeys = () => typeof known()?.parseRequestOptionsFromJSON === "function";

/** Whether the browser offers passkeys in the list below the field of the e-mail. */
export const offersPasskeys = async () => hasPasskeys() && !!(await known()?.isConditionalMediationAvailable?.());

export async function makePasskey({ state, options }: BegunPasskey): Promise<Shown> {
  const publicKey = known()!.parseCreationOptionsFromJSON(options as never);
  return { state, response: await answered(options, () => navigator.credentials.create({ publicKey })) };
}

/** With `signal` the browser asks for nothing by itself and waits until a passkey is chosen at a field. */
export async function showPasskey({ state, options }: BegunPasskey, signal?: AbortSignal): Promise<Shown> {
  const publicKey = known()!.parseRequestOptionsFromJSON(options as never);
  const more = signal ? { signal, mediation: "conditional" as const } : {};
  return { state, response: await answered(options, () => navigator.credentials.get({ publicKey, ...more })) };
}

async function answered(options: Options, ask: () => Promise<Credential | null>): Promise<unknown> {
  try {
    return ((await ask()) as PublicKeyCredential).toJSON();
  } catch (error) {
    const text = error instanceof DOMException ? reasonOf(error.name, options) : "";
    if (!text) throw error;
    throw new Error(text);
  }
}

/** What went wrong in the browser, which says it in words for programmers alone. */
function reasonOf(name: string, options: Options): string {
  const host = (options.rp as { id?: string } | undefined)?.id ?? options.rpId;
  if (name === "SecurityError") return t("passkey.elsewhere", { host: String(host) });
  if (name === "InvalidStateError") return t("passkey.known");
  return name === "NotAllowedError" ? t("passkey.refused") : "";
}
