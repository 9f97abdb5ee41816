// Second factors of the caller's own account: apps with codes, recovery codes; passkeys are listed and removed.
import { useState } from "preact/hooks";
import { call } from "../api/api";
import { ask, Dialog } from "../parts/Dialog";
import { Summary, TextField, useSending } from "../parts/Fields";
import { Icon } from "../parts/Icon";
import { Ready, useLoaded } from "../parts/States";
import { failed, toast } from "../parts/Toast";
import { ago, t } from "../words/words";

interface Factor {
  id: string;
  kind: string;
  name: string;
  lastUsedAt: string | null;
}

interface Begun {
  state: string;
  secret: string;
  qrSvg: string;
}

const PATH = "/api/auth/factors";

export function Factors() {
  const loaded = useLoaded(async () => (await call<Factor[]>("GET", PATH)).data, []);
  const [begun, setBegun] = useState<Begun | null>(null);
  const [codes, setCodes] = useState<string[] | null>(null);

  async function begin(): Promise<void> {
    try {
      setBegun((await call<Begun>("POST", `${PATH}/totp/begin`, { json: {} })).data);
    } catch (error) {
      failed(error);
    }
  }
  async function renew(): Promise<void> {
    try {
      setCodes(
        (await call<{ recoveryCodes: string[] }>("POST", `${PATH}/recovery-codes`, { json: {} })).data.recoveryCodes,
      );
    } catch (error) {
      failed(error);
    }
  }
  async function remove(factor: Factor): Promise<void> {
    if (!(await ask(t("mfa.remove", { name: factor.name }), t("mfa.remove.text"), t("delete")))) return;
    try {
      await call("DELETE", `${PATH}/${factor.id}`);
      toast(t("saved"));
      await loaded.reload();
    } catch (error) {
      failed(error);
    }
  }

  return (
    <section class="panel">
      <div class="row">
        <h2>{t("mfa.factors")}</h2>
        <span class="space" />
        <button type="button" onClick={() => void begin()}>
          <Icon name="plus" />
          {t("mfa.add")}
        </button>
      </div>
      <Ready loaded={loaded}>
        {(factors) => (
          <>
            <ul class="sessions">
              {factors.length === 0 && <li class="muted">{t("mfa.none")}</li>}
              {factors.map((factor) => (
                <li class="session" key={factor.id}>
                  <Icon name="key-round" class="muted" />
                  <div class="what">
                    <bdi>{factor.name}</bdi>
                    <p class="muted small">
                      {factor.kind} · {factor.lastUsedAt ? ago(factor.lastUsedAt) : t("never")}
                    </p>
                  </div>
                  <button type="button" onClick={() => void remove(factor)}>
                    {t("delete")}
                  </button>
                </li>
              ))}
            </ul>
            {factors.length > 0 && (
              <p>
                <button type="button" onClick={() => void renew()}>
                  {t("mfa.recovery")}
                </button>
              </p>
            )}
          </>
        )}
      </Ready>
      {begun && (
        <NewApp
          begun={begun}
          onClose={() => setBegun(null)}
          done={async (made) => {
            setBegun(null);
            setCodes(made ?? null);
            await loaded.reload();
          }}
        />
      )}
      {codes && (
        <Dialog title={t("mfa.codes")} onClose={() => setCodes(null)}>
          <p>{t("mfa.codes.text")}</p>
          <pre dir="ltr">{codes.join("\n")}</pre>
        </Dialog>
      )}
    </section>
  );
}

interface NewAppProps {
  begun: Begun;
  onClose: () => void;
  done: (codes?: string[]) => Promise<void>;
}

function NewApp({ begun, onClose, done }: NewAppProps) {
  const [code, setCode] = useState("");
  const sending = useSending();
  function submit(event: Event): void {
    event.preventDefault();
    void sending.run(async () => {
      const json = { state: begun.state, code: code.replace(/\s/g, "") };
      await done(
        (await call<{ recoveryCodes?: string[] }>("POST", `${PATH}/totp/finish`, { json })).data.recoveryCodes,
      );
    });
  }
  return (
    <Dialog title={t("mfa.add")} onClose={onClose}>
      <form class="section" onSubmit={submit} noValidate aria-busy={sending.isBusy}>
        <Summary sending={sending} />
        <p>{t("mfa.scan")}</p>
        <img class="qr" alt={t("mfa.qr")} src={`data:image/svg+xml,${encodeURIComponent(begun.qrSvg)}`} />
        <pre dir="ltr">{begun.secret}</pre>
        <TextField
          label={t("mfa.code")}
          name="code"
          value={code}
          change={setCode}
          sending={sending}
          autocomplete="one-time-code"
        />
        <button type="submit" class="primary" disabled={sending.isBusy || !code}>
          {t("save")}
        </button>
      </form>
    </Dialog>
  );
}
