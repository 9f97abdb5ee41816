// Some requests need a recent proof that it is still the same person: what the account has is asked for, and the
// request is sent again.
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { call, hooks } from "../api/api";
import { type BegunPasskey, hasPasskeys, showPasskey } from "../session/passkeys";
import { reauthenticate } from "../session/tokens";
import { t } from "../words/words";
import { Button, Submit } from "./Button";
import { Dialog } from "./Dialog";
import { Summary, TextField, useSending } from "./Fields";
import { Icon } from "./Icon";
import { Ready, useLoaded } from "./States";

const answer = signal<((isProved: boolean) => void) | null>(null);

/** Requests that wait for a proof at the same time wait for the same one. */
let asked: Promise<boolean> | null = null;

hooks.prove = () => {
  asked ??= new Promise<boolean>((resolve) => {
    answer.value = (isProved) => {
      answer.value = null;
      asked = null;
      resolve(isProved);
    };
  });
  return asked;
};

export const Proof = () => (answer.value ? <ProofDialog done={answer.value} /> : null);

function ProofDialog({ done }: { done: (isProved: boolean) => void }) {
  const loaded = useLoaded(async () => {
    const { data } = await call<{ kind: string }[]>("GET", "/api/auth/factors");
    return data.map((factor) => factor.kind);
  }, []);
  return (
    <Dialog title={t("proof.title")} onClose={() => done(false)}>
      <Ready loaded={loaded}>{(kinds) => <ProofForm kinds={kinds} done={done} />}</Ready>
    </Dialog>
  );
}

/** An account with a second factor shows that one; the password is of those who have none. */
function ProofForm({ kinds, done }: { kinds: string[]; done: (isProved: boolean) => void }) {
  const [typed, setTyped] = useState("");
  const sending = useSending();
  const form = useRef<HTMLFormElement>(null);
  // it comes later than its dialog
  useEffect(() => form.current?.querySelector("input")?.focus(), []);
  const prove = (proof: () => Promise<Parameters<typeof reauthenticate>[0]>) =>
    sending.run(async () => {
      await reauthenticate(await proof());
      done(true);
    });
  async function passkey() {
    const { data } = await call<BegunPasskey>("POST", "/api/auth/reauthenticate/passkey", { json: {} });
    return showPasskey(data);
  }
  function submit(event: Event): void {
    event.preventDefault();
    void prove(async () => (kinds.length ? { code: typed.replace(/\s/g, "") } : { password: typed }));
  }
  return (
    <form ref={form} class="section" onSubmit={submit} noValidate aria-busy={sending.isBusy}>
      <p>{t("proof.text")}</p>
      <Summary sending={sending} />
      {kinds.includes("passkey") && hasPasskeys() && (
        <Button isResting={sending.isBusy} onClick={() => void prove(passkey)}>
          <Icon name="fingerprint" />
          {t("passkey.use")}
        </Button>
      )}
      {kinds.length ? (
        <TextField
          label={t("mfa.code")}
          name="code"
          autocomplete="one-time-code"
          value={typed}
          change={setTyped}
          sending={sending}
          hint={t(kinds.includes("totp") ? "mfa.hint" : "mfa.hint.recovery")}
        />
      ) : (
        <TextField
          label={t("password")}
          name="password"
          type="password"
          autocomplete="current-password"
          value={typed}
          change={setTyped}
          sending={sending}
        />
      )}
      <Submit isResting={sending.isBusy || !typed}>{t("proof.submit")}</Submit>
    </form>
  );
}
