// Some requests need a recent proof that it is still the same person: the password is asked for, and the request is
// sent again.
import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { hooks } from "../api/api";
import { reauthenticate } from "../session/session";
import { t } from "../words/words";
import { Dialog } from "./Dialog";
import { Summary, TextField, useSending } from "./Fields";

const answer = signal<((isProved: boolean) => void) | null>(null);

hooks.prove = () =>
  new Promise((resolve) => {
    answer.value = (isProved) => {
      answer.value = null;
      resolve(isProved);
    };
  });

export const Proof = () => (answer.value ? <ProofDialog done={answer.value} /> : null);

function ProofDialog({ done }: { done: (isProved: boolean) => void }) {
  const [password, setPassword] = useState("");
  const sending = useSending();
  function submit(event: Event): void {
    event.preventDefault();
    void sending.run(async () => {
      await reauthenticate(password);
      done(true);
    });
  }
  return (
    <Dialog title={t("proof.title")} onClose={() => done(false)}>
      <form class="section" onSubmit={submit} noValidate aria-busy={sending.isBusy}>
        <p>{t("proof.text")}</p>
        <Summary sending={sending} />
        <TextField
          label={t("password")}
          name="password"
          type="password"
          autocomplete="current-password"
          value={password}
          change={setPassword}
          sending={sending}
        />
        <button type="submit" class="primary" disabled={sending.isBusy || !password}>
          {t("login.submit")}
        </button>
      </form>
    </Dialog>
  );
}
