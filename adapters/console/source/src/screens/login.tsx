// Signing in: e-mail and password, then the tenant where there are several, or a mail for a new password.
import { signal } from "@preact/signals";
import { type ComponentChildren, h } from "preact";
import { useState } from "preact/hooks";
import { ApiError, call } from "../api/api";
import { Button, Submit } from "../parts/Button";
import { Icon } from "../parts/Icon";
import { type Begun, Scan } from "../parts/Scan";
import { Ready, useLoaded } from "../parts/States";
import { Title } from "../parts/Title";
import { errorText, failed } from "../parts/Toast";
import { type BegunPasskey, hasPasskeys, makePasskey, type Shown } from "../session/passkeys";
import {
  challenge,
  choices,
  choosePasskey,
  enrol,
  enter,
  login,
  logout,
  passkeyLogin,
  passkeySecond,
  showCode,
  state,
} from "../session/session";
import { chooseLanguage, type Key, LANGUAGES, language, t } from "../words/words";
import { usePasskeyAutofill } from "./passkeyAutofill";

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
            <Enrolment {...challenge.value} />
          ) : (
            <SecondFactor methods={challenge.value.methods} />
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

interface Work<T = string> {
  isBusy: boolean;
  error: string;
  run: (event?: Event, argument?: T) => Promise<void>;
}

/** Runs a form's work once at a time and keeps what went wrong; `refused` tells that what was shown opens no account. */
function useWork<T = string>(work: (argument?: T) => Promise<void>, refused: Key = "login.wrong"): Work<T> {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState("");
  async function run(event?: Event, argument?: T): Promise<void> {
    event?.preventDefault();
    if (isBusy) return;
    setBusy(true);
    setError("");
    try {
      await work(argument);
    } catch (problem) {
      setError(loginError(problem, refused));
    }
    setBusy(false);
  }
  return { isBusy, error, run };
}

/** What the steps call the fields of their requests: nobody types a ticket, a state or what a passkey answers. */
const NAMES: Record<string, Key> = {
  email: "email",
  password: "password",
  code: "mfa.code",
  ticket: "login.title",
  state: "login.title",
  response: "passkey",
};

function loginError(error: unknown, refused: Key): string {
  if (!(error instanceof ApiError)) return errorText(error);
  if (error.code === "INVALID_CREDENTIALS") return t(refused);
  if (error.code === "ACCOUNT_LOCKED") return t("login.locked");
  if (error.code === "EMAIL_NOT_CONFIRMED") return t("login.unconfirmed");
  const [wrong] = error.fields;
  if (!wrong) return errorText(error);
  const name = NAMES[wrong.field];
  return `${name ? t(name) : wrong.field}: ${wrong.message}`;
}

interface StepProps {
  title: string;
  work: Work;
  /** Text of the button that sends; none where there is nothing to send any more. */
  submit?: string;
  other: string;
  goTo: () => void;
  /** Another way to do the same. */
  instead?: ComponentChildren;
  children: ComponentChildren;
}

/** One step of signing in: a form, what went wrong, and the way to another step. */
function Step({ title, work: { isBusy, error, run }, submit, other, goTo, instead, children }: StepProps) {
  return (
    <form onSubmit={(event) => void run(event)} noValidate aria-busy={isBusy}>
      <Title isStep>{title}</Title>
      {error && (
        <p class="bad-text" role="alert">
          {error}
        </p>
      )}
      {children}
      {submit && (
        <Submit class="primary block" isResting={isBusy}>
          {submit}
        </Submit>
      )}
      {instead}
      <button type="button" class="link" onClick={goTo}>
        {other}
      </button>
    </form>
  );
}

interface InputProps {
  label: string;
  name: string;
  value: string;
  change: (value: string) => void;
  autocomplete: string;
  type?: "text" | "email" | "password";
  hint?: string;
  onFocus?: () => void;
}

const Input = ({ label, change, hint, type = "text", ...more }: InputProps) => (
  <label class="field">
    <span>{label}</span>
    {h("input", {
      ...more,
      type,
      required: true,
      onInput: (event: { currentTarget: HTMLInputElement }) => change(event.currentTarget.value),
    })}
    {hint && <span class="hint small">{hint}</span>}
  </label>
);

const EmailInput = ({ autocomplete = "username", onFocus }: { autocomplete?: string; onFocus?: () => void }) => (
  <Input
    onFocus={onFocus}
    label={t("email")}
    name="email"
    type="email"
    autocomplete={autocomplete}
    value={email.value}
    change={(typed) => (email.value = typed)}
  />
);

function Password({ forgotten }: { forgotten: () => void }) {
  const [password, setPassword] = useState("");
  const work = useWork(() => login(email.value.trim(), password));
  const passkey = useWork<Shown>(async (shown) => passkeyLogin(shown ?? (await choosePasskey())), "passkey.wrong");
  const offer = usePasskeyAutofill((shown) => passkey.run(undefined, shown));
  return (
    <Step
      title={t("login.title")}
      work={{ ...work, isBusy: work.isBusy || passkey.isBusy, error: work.error || passkey.error }}
      submit={t("login.submit")}
      other={t("login.forgotten")}
      goTo={forgotten}
      instead={
        hasPasskeys() && (
          <button type="button" class="block" onClick={() => (offer.end(), void passkey.run())}>
            <Icon name="fingerprint" />
            {t("passkey.login")}
          </button>
        )
      }
    >
      <EmailInput autocomplete="username webauthn" onFocus={offer.begin} />
      <Input
        label={t("password")}
        name="password"
        type="password"
        autocomplete="current-password"
        value={password}
        change={setPassword}
      />
    </Step>
  );
}

const startAgain = () => (challenge.value = null);

interface CodeProps {
  value: string;
  change: (value: string) => void;
  hint?: string;
}

const CodeInput = (props: CodeProps) => (
  <Input label={t("mfa.code")} name="code" autocomplete="one-time-code" {...props} />
);

function SecondFactor({ methods }: { methods: string[] }) {
  const [code, setCode] = useState("");
  const work = useWork(() => showCode(code));
  const passkey = useWork(passkeySecond, "passkey.wrong");
  const hasCode = methods.some((method) => method !== "passkey");
  return (
    <Step
      title={t("mfa.title")}
      work={{ ...work, isBusy: work.isBusy || passkey.isBusy, error: work.error || passkey.error }}
      submit={hasCode ? t("login.submit") : undefined}
      other={t("login.other")}
      goTo={startAgain}
      instead={
        methods.includes("passkey") &&
        hasPasskeys() && (
          <button type="button" class="block" onClick={() => void passkey.run()}>
            <Icon name="fingerprint" />
            {t("passkey.use")}
          </button>
        )
      }
    >
      {hasCode && (
        <CodeInput
          value={code}
          change={setCode}
          hint={t(methods.includes("totp") ? "mfa.hint" : "mfa.hint.recovery")}
        />
      )}
    </Step>
  );
}

/** The tenant demands a second factor, and the account has none that counts: it is set up before the first screen. */
function Enrolment({ ticket, methods }: { ticket: string; methods: string[] }) {
  const mayPasskey = methods.includes("passkey") && hasPasskeys();
  const [isApp, setApp] = useState(methods.includes("totp") || !mayPasskey);
  const kind = isApp ? "totp" : "passkey";
  const [code, setCode] = useState("");
  const loaded = useLoaded(async () => {
    const json = { ticket, kind };
    return (await call<Begun & BegunPasskey>("POST", "/api/auth/mfa/enrol", { json, isAnonymous: true })).data;
  }, [ticket, kind]);
  const work = useWork(async () => {
    if (!loaded.data) return;
    await enrol(isApp ? { state: loaded.data.state, code: code.replace(/\s/g, "") } : await makePasskey(loaded.data));
  });
  return (
    <Step
      title={t(isApp ? "mfa.add" : "passkey.add")}
      work={work}
      submit={t(isApp ? "login.submit" : "passkey.make")}
      other={t("login.other")}
      goTo={startAgain}
      instead={
        mayPasskey &&
        methods.includes("totp") && (
          <button type="button" class="block" onClick={() => setApp(!isApp)}>
            {t(isApp ? "passkey.instead" : "mfa.instead")}
          </button>
        )
      }
    >
      <p>{t("mfa.demanded")}</p>
      {isApp && (
        <>
          <Ready loaded={loaded}>{(begun) => <Scan begun={begun} />}</Ready>
          <CodeInput value={code} change={setCode} />
        </>
      )}
    </Step>
  );
}

function TenantChoice() {
  const work = useWork(async (id?: string) => {
    if (id) await enter(id);
  });
  return (
    <Step title={t("login.tenant")} work={work} other={t("login.other")} goTo={() => logout().catch(failed)}>
      {choices.value.length === 0 && <p>{t("login.nowhere")}</p>}
      <ul class="choices">
        {choices.value.map((tenant) => (
          <li key={tenant.id}>
            <Button isResting={work.isBusy} onClick={() => void work.run(undefined, tenant.id)}>
              <Icon name="building-2" />
              <bdi>{tenant.name}</bdi>
              <Icon name="chevron-right" />
            </Button>
          </li>
        ))}
      </ul>
    </Step>
  );
}

function Forgotten({ back }: { back: () => void }) {
  const [isSent, setSent] = useState(false);
  const work = useWork(async () => {
    await call("POST", "/api/auth/request-password-reset", { json: { email: email.value.trim() } });
    setSent(true);
  });
  return (
    <Step
      title={t("login.forgotten")}
      work={work}
      submit={isSent ? undefined : t("login.mail")}
      other={t("login.back")}
      goTo={back}
    >
      {isSent ? <p role="status">{t("login.mailed", { email: email.value })}</p> : <EmailInput />}
    </Step>
  );
}
