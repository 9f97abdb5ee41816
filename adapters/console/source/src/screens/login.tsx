// Signing in: e-mail and password, then the tenant where there are several, or a mail for a new password.
import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { ApiError, call } from "../api/api";
import { Icon } from "../parts/Icon";
import { Ready, useLoaded } from "../parts/States";
import { Title } from "../parts/Title";
import { errorText } from "../parts/Toast";
import { challenge, choices, enrol, enter, login, logout, showCode, state } from "../session/session";
import { chooseLanguage, LANGUAGES, language, t } from "../words/words";

const email = signal("");

export function Login() {
  const [isForgotten, setForgotten] = useState(false);
  return (
    <main class="login">
      <div class="card">
        <p class="brand">
          <Icon name="database" />
          Tenantry
        </p>
        {challenge.value ? (
          challenge.value.isEnrolment ? (
            <Enrolment ticket={challenge.value.ticket} />
          ) : (
            <SecondFactor />
          )
        ) : state.value === "choosing" ? (
          <TenantChoice />
        ) : isForgotten ? (
          <Forgotten back={() => setForgotten(false)} />
        ) : (
          <Password forgotten={() => setForgotten(true)} />
        )}
      </div>
      <p class="languages">
        {LANGUAGES.map(([code, name]) => (
          <button
            key={code}
            type="button"
            class="link"
            lang={code}
            aria-pressed={language.value === code}
            onClick={() => void chooseLanguage(code)}
          >
            {name}
          </button>
        ))}
      </p>
    </main>
  );
}

/** Runs a form's work once at a time and keeps what went wrong. */
function useWork(work: (argument: string) => Promise<void>) {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState("");
  async function run(event?: Event, argument = ""): Promise<void> {
    event?.preventDefault();
    if (isBusy) return;
    setBusy(true);
    setError("");
    try {
      await work(argument);
    } catch (problem) {
      setError(loginError(problem));
    }
    setBusy(false);
  }
  return { isBusy, error, run };
}

function loginError(error: unknown): string {
  if (!(error instanceof ApiError)) return errorText(error);
  if (error.code === "INVALID_CREDENTIALS") return t("login.wrong");
  if (error.code === "ACCOUNT_LOCKED") return t("login.locked");
  if (error.code === "EMAIL_NOT_CONFIRMED") return t("login.unconfirmed");
  return error.fields[0] ? `${error.fields[0].field}: ${error.fields[0].message}` : errorText(error);
}

function Password({ forgotten }: { forgotten: () => void }) {
  const [password, setPassword] = useState("");
  const { isBusy, error, run } = useWork(() => login(email.value.trim(), password));
  return (
    <form onSubmit={(event) => void run(event)} aria-busy={isBusy}>
      <Title>{t("login.title")}</Title>
      {error && (
        <p class="bad-text" role="alert">
          {error}
        </p>
      )}
      <label class="field">
        <span>{t("email")}</span>
        <input
          type="email"
          name="email"
          autocomplete="username webauthn"
          required
          value={email.value}
          onInput={(event) => (email.value = event.currentTarget.value)}
        />
      </label>
      <label class="field">
        <span>{t("password")}</span>
        <input
          type="password"
          name="password"
          autocomplete="current-password"
          required
          value={password}
          onInput={(event) => setPassword(event.currentTarget.value)}
        />
      </label>
      <button type="submit" class="primary block" disabled={isBusy}>
        {t("login.submit")}
      </button>
      <button type="button" class="link" onClick={forgotten}>
        {t("login.forgotten")}
      </button>
    </form>
  );
}

function SecondFactor() {
  const [code, setCode] = useState("");
  const { isBusy, error, run } = useWork(() => showCode(code));
  return (
    <form onSubmit={(event) => void run(event)} aria-busy={isBusy}>
      <Title>{t("mfa.title")}</Title>
      {error && (
        <p class="bad-text" role="alert">
          {error}
        </p>
      )}
      <label class="field">
        <span>{t("mfa.code")}</span>
        <input
          name="code"
          autocomplete="one-time-code"
          required
          value={code}
          onInput={(event) => setCode(event.currentTarget.value)}
        />
        <span class="hint small">{t("mfa.hint")}</span>
      </label>
      <button type="submit" class="primary block" disabled={isBusy}>
        {t("login.submit")}
      </button>
      <button type="button" class="link" onClick={() => (challenge.value = null)}>
        {t("login.other")}
      </button>
    </form>
  );
}

interface Begun {
  state: string;
  secret: string;
  qrSvg: string;
}

/** The tenant demands a second factor, and the account has none: an app is set up before the first screen. */
function Enrolment({ ticket }: { ticket: string }) {
  const [code, setCode] = useState("");
  const loaded = useLoaded(async () => {
    const json = { ticket, kind: "totp" };
    return (await call<Begun>("POST", "/api/auth/mfa/enrol", { json, isAnonymous: true })).data;
  }, [ticket]);
  const { isBusy, error, run } = useWork(() => enrol(loaded.data?.state ?? "", code));
  return (
    <form onSubmit={(event) => void run(event)} aria-busy={isBusy}>
      <Title>{t("mfa.add")}</Title>
      {error && (
        <p class="bad-text" role="alert">
          {error}
        </p>
      )}
      <p>{t("mfa.scan")}</p>
      <Ready loaded={loaded}>
        {(begun) => (
          <>
            <img class="qr" alt={t("mfa.qr")} src={`data:image/svg+xml,${encodeURIComponent(begun.qrSvg)}`} />
            <pre dir="ltr">{begun.secret}</pre>
          </>
        )}
      </Ready>
      <label class="field">
        <span>{t("mfa.code")}</span>
        <input
          name="code"
          autocomplete="one-time-code"
          required
          value={code}
          onInput={(event) => setCode(event.currentTarget.value)}
        />
      </label>
      <button type="submit" class="primary block" disabled={isBusy}>
        {t("login.submit")}
      </button>
      <button type="button" class="link" onClick={() => (challenge.value = null)}>
        {t("login.other")}
      </button>
    </form>
  );
}

function TenantChoice() {
  const { isBusy, error, run } = useWork(enter);
  return (
    <div aria-busy={isBusy}>
      <Title>{t("login.tenant")}</Title>
      {error && (
        <p class="bad-text" role="alert">
          {error}
        </p>
      )}
      {choices.value.length === 0 && <p>{t("login.nowhere")}</p>}
      <ul class="choices">
        {choices.value.map((tenant) => (
          <li key={tenant.id}>
            <button type="button" disabled={isBusy} onClick={() => void run(undefined, tenant.id)}>
              <Icon name="building-2" />
              <bdi>{tenant.name}</bdi>
              <Icon name="chevron-right" />
            </button>
          </li>
        ))}
      </ul>
      <button type="button" class="link" onClick={() => void logout()}>
        {t("login.other")}
      </button>
    </div>
  );
}

function Forgotten({ back }: { back: () => void }) {
  const [isSent, setSent] = useState(false);
  const { isBusy, error, run } = useWork(async () => {
    await call("POST", "/api/auth/request-password-reset", { json: { email: email.value.trim() } });
    setSent(true);
  });
  return (
    <form onSubmit={(event) => void run(event)} aria-busy={isBusy}>
      <Title>{t("login.forgotten")}</Title>
      {error && (
        <p class="bad-text" role="alert">
          {error}
        </p>
      )}
      {isSent ? (
        <p role="status">{t("login.mailed", { email: email.value })}</p>
      ) : (
        <>
          <label class="field">
            <span>{t("email")}</span>
            <input
              type="email"
              autocomplete="username"
              required
              value={email.value}
              onInput={(event) => (email.value = event.currentTarget.value)}
            />
          </label>
          <button type="submit" class="primary block" disabled={isBusy}>
            {t("login.mail")}
          </button>
        </>
      )}
      <button type="button" class="link" onClick={back}>
        {t("login.back")}
      </button>
    </form>
  );
}
