// Second factors of the caller's own account: passkeys, apps with codes, recovery codes.

import { useState } from "preact/hooks";
import { call, send } from "../api/api";
import type { FactorItem, FactorList, NewRecoveryCodes } from "../api/types";
import { ask, Dialog } from "../parts/Dialog";
import { TextField } from "../parts/Fields";
import { FormDialog } from "../parts/FormDialog";
import { Icon } from "../parts/Icon";
import { type Begun, Scan } from "../parts/Scan";
import { Ready, useLoaded } from "../parts/States";
import { attempt } from "../parts/Toast";
import { type BegunPasskey, hasPasskeys, makePasskey } from "../session/passkeys";
import { ago, t } from "../words/words";

const PATH = "/api/auth/factors";

/** The number of recovery codes stands beside the list, and not in it. */
const read = async () => (await (await send("GET", PATH)).json()) as FactorList;

type Adding = "passkey" | Begun | null;

export function Factors() {
  const loaded = useLoaded(read, []);
  const [adding, add] = useState<Adding>(null);
  const [codes, setCodes] = useState<string[] | null>(null);
  const close = () => add(null);
  const begin = () => attempt(async () => add((await call<Begun>("POST", `${PATH}/totp/begin`, { json: {} })).data));
  const added = (made?: string[]) => (setCodes(made ?? null), loaded.reload());
  return (
    <section class="panel">
      <h2>{t("mfa.factors")}</h2>
      <Ready loaded={loaded}>
        {({ data: factors, recoveryCodesLeft }) => (
          <>
            <Listed factors={factors} reload={loaded.reload} />
            {factors.length > 0 && <RecoveryCodes left={recoveryCodesLeft} made={added} />}
          </>
        )}
      </Ready>
      <div class="buttons">
        {hasPasskeys() && (
          <button type="button" onClick={() => add("passkey")}>
            <Icon name="fingerprint" />
            {t("passkey.add")}
          </button>
        )}
        <button type="button" onClick={() => void begin()}>
          <Icon name="smartphone" />
          {t("mfa.add")}
        </button>
      </div>
      {adding === "passkey" && <NewPasskey onClose={close} done={added} />}
      {adding && adding !== "passkey" && <NewApp begun={adding} onClose={close} done={added} />}
      {codes && <Codes codes={codes} onClose={() => setCodes(null)} />}
    </section>
  );
}

const ICONS: Record<string, string> = { passkey: "fingerprint", totp: "smartphone" };

/** The service calls a factor by its kind, in English, where nobody named it. */
const nameOf = ({ kind, name }: FactorItem) =>
  /^(authenticator app|passkey|)$/i.test(name) ? t(kind === "passkey" ? "passkey" : "mfa.app") : name;

function Listed({ factors, reload }: { factors: FactorItem[]; reload: () => Promise<void> }) {
  const [renamed, rename] = useState<FactorItem | null>(null);
  async function remove(factor: FactorItem): Promise<void> {
    if (!(await ask(t("mfa.remove", { name: nameOf(factor) }), t("mfa.remove.text"), t("delete")))) return;
    if (await attempt(() => call("DELETE", `${PATH}/${factor.id}`), "saved")) await reload();
  }
  return (
    <>
      <ul class="sessions">
        {factors.length === 0 && <li class="muted">{t("mfa.none")}</li>}
        {factors.map((factor) => (
          <li class="session" key={factor.id}>
            <Icon name={ICONS[factor.kind] ?? "key-round"} class="muted" />
            <div class="what">
              <bdi>{nameOf(factor)}</bdi>
              <p class="muted small">
                {t(factor.kind === "passkey" ? (factor.isSynced ? "passkey.synced" : "passkey") : "mfa.app")} ·{" "}
                {factor.lastUsedAt ? ago(factor.lastUsedAt) : t("never")}
              </p>
            </div>
            <button
              type="button"
              class="plain square"
              aria-label={t("mfa.rename", { name: nameOf(factor) })}
              onClick={() => rename(factor)}
            >
              <Icon name="pencil" />
            </button>
            <button
              type="button"
              class="plain square"
              aria-label={t("mfa.drop", { name: nameOf(factor) })}
              onClick={() => void remove(factor)}
            >
              <Icon name="trash-2" />
            </button>
          </li>
        ))}
      </ul>
      {renamed && <Rename factor={renamed} onClose={() => rename(null)} done={reload} />}
    </>
  );
}

/** What is left of the codes that let one in without any factor, and new ones in place of all of them. */
function RecoveryCodes({ left, made }: { left: number; made: (codes: string[]) => void }) {
  async function renew(): Promise<void> {
    if (!(await ask(t("mfa.recovery"), t("mfa.recovery.text"), t("mfa.recovery")))) return;
    await attempt(async () =>
      made((await call<NewRecoveryCodes>("POST", `${PATH}/recovery-codes`, { json: {} })).data.recoveryCodes),
    );
  }
  return (
    <div class="row">
      <span class={left > 2 ? "muted" : "badge warn"}>{t("mfa.left", { count: left })}</span>
      <span class="space" />
      <button type="button" onClick={() => void renew()}>
        {t("mfa.recovery")}
      </button>
    </div>
  );
}

function Rename({ factor, onClose, done }: { factor: FactorItem; onClose: () => void; done: () => Promise<void> }) {
  const [name, setName] = useState(factor.name);
  return (
    <FormDialog
      title={t("mfa.rename", { name: factor.name })}
      submit={t("save")}
      onClose={onClose}
      send={() => call("PUT", `${PATH}/${factor.id}`, { json: { name } })}
      done={done}
    >
      {(sending) => <TextField label={t("name")} name="name" value={name} change={setName} sending={sending} />}
    </FormDialog>
  );
}

interface NewProps {
  onClose: () => void;
  done: (codes?: string[]) => Promise<void>;
}

function NewPasskey({ onClose, done }: NewProps) {
  const [name, setName] = useState("");
  async function finish(): Promise<string[] | undefined> {
    const { data } = await call<BegunPasskey>("POST", `${PATH}/passkeys/begin`, { json: {} });
    const json = { ...(await makePasskey(data)), ...(name.trim() ? { name: name.trim() } : {}) };
    return (await call<Partial<NewRecoveryCodes>>("POST", `${PATH}/passkeys/finish`, { json })).data.recoveryCodes;
  }
  return (
    <FormDialog title={t("passkey.add")} submit={t("passkey.make")} onClose={onClose} send={finish} done={done}>
      {(sending) => (
        <>
          <p>{t("passkey.text")}</p>
          <TextField
            label={t("name")}
            name="name"
            value={name}
            change={setName}
            sending={sending}
            hint={t("passkey.name")}
          />
        </>
      )}
    </FormDialog>
  );
}

/** Recovery codes, which are shown this once. */
export const Codes = ({ codes, onClose }: { codes: string[]; onClose: () => void }) => (
  <Dialog title={t("mfa.codes")} onClose={onClose} keeps>
    <p>{t("mfa.codes.text")}</p>
    <pre dir="ltr">{codes.join("\n")}</pre>
  </Dialog>
);

function NewApp({ begun, onClose, done }: NewProps & { begun: Begun }) {
  const [code, setCode] = useState("");
  async function finish(): Promise<string[] | undefined> {
    const json = { state: begun.state, code: code.replace(/\s/g, "") };
    return (await call<Partial<NewRecoveryCodes>>("POST", `${PATH}/totp/finish`, { json })).data.recoveryCodes;
  }
  return (
    <FormDialog title={t("mfa.add")} submit={t("save")} onClose={onClose} isReady={!!code} send={finish} done={done}>
      {(sending) => (
        <>
          <Scan begun={begun} />
          <TextField
            label={t("mfa.code")}
            name="code"
            value={code}
            change={setCode}
            sending={sending}
            autocomplete="one-time-code"
          />
        </>
      )}
    </FormDialog>
  );
}
