// The steps of a login, for the console and the account pages: password or passkey, second factor, tenant.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { call } from "../api/api";
import { Button } from "../parts/Button";
import { Icon } from "../parts/Icon";
import { type Begun, Scan } from "../parts/Scan";
import { type BegunPasskey, hasPasskeys, makePasskey } from "../session/passkeys";
import { t } from "../words/words";
import { CodeInput, EmailInput, email, Input, PasswordInput } from "./fields";
import {
  beginFactor,
  challenge,
  choices,
  choosePasskey,
  enrol,
  keptCodes,
  login,
  newCodes,
  passkeyLogin,
  passkeySecond,
  setback,
  showCode,
  startAgain,
  way,
} from "./login";
import { usePasskeyAutofill } from "./passkeyAutofill";
import { Form, Step, Told, useWork } from "./Step";

interface LoginProps {
  /** The first step, as long as nothing else is asked for. */
  children: ComponentChildren;
  /** Leaves the choice of a tenant. */
  leave?: () => void;
}

export function LoginSteps({ children, leave = startAgain }: LoginProps) {
  const asked = challenge.value;
  if (newCodes.value) return <RecoveryCodes codes={newCodes.value} />;
  if (asked?.isEnrolment) return <Enrolment key={asked.ticket} methods={asked.methods} />;
  if (asked) return <SecondFactor key={asked.ticket} methods={asked.methods} />;
  return choices.value ? <TenantChoice leave={leave} /> : children;
}

interface PasswordProps {
  /** Whether the page is for nothing else, so that one can type at once. */
  isAlone?: boolean;
  /** Other ways to sign in, and what else one comes here for. */
  children?: ComponentChildren;
}

export function Password({ isAlone, children }: PasswordProps) {
  const [password, setPassword] = useState("");
  const work = useWork();
  const offer = usePasskeyAutofill((shown) => work.run(() => passkeyLogin(shown), "passkey.wrong"));
  const byPasskey = async () => passkeyLogin(await choosePasskey());
  return (
    <Step title={t("login.title")} work={work} told={setback.value} focus={isAlone ? "always" : "never"}>
      <Form work={work} send={() => login(email.value.trim(), password)} submit={t("login.title")}>
        <EmailInput autocomplete="username webauthn" onFocus={offer.begin} />
        <PasswordInput value={password} change={setPassword} />
      </Form>
      {hasPasskeys() && (
        <Button
          class="block"
          isResting={work.isBusy}
          onClick={() => (offer.end(), void work.run(byPasskey, "passkey.wrong"))}
        >
          <Icon name="fingerprint" />
          {t("passkey.login")}
        </Button>
      )}
      {children}
    </Step>
  );
}

const StartAgain = ({ act = () => startAgain() }: { act?: () => void }) => (
  <button type="button" class="link" onClick={act}>
    {t("login.other")}
  </button>
);

function SecondFactor({ methods }: { methods: string[] }) {
  const [code, setCode] = useState("");
  const [recovery, setRecovery] = useState("");
  const work = useWork();
  return (
    <Step title={t("mfa.title")} work={work}>
      {methods.includes("totp") && (
        <Form work={work} send={() => showCode("totp", code)} submit={t("continue")}>
          <CodeInput value={code} change={setCode} />
        </Form>
      )}
      {methods.includes("passkey") && hasPasskeys() && (
        <Button class="block" isResting={work.isBusy} onClick={() => void work.run(passkeySecond, "passkey.wrong")}>
          <Icon name="fingerprint" />
          {t("passkey.use")}
        </Button>
      )}
      {methods.includes("recovery") && (
        <Form
          work={work}
          send={() => showCode("recovery", recovery)}
          submit={t("mfa.recovery.use")}
          isSecond={methods.length > 1}
        >
          <Input
            label={t("mfa.recovery.code")}
            name="recovery"
            autocomplete="off"
            value={recovery}
            change={setRecovery}
          />
        </Form>
      )}
      <StartAgain />
    </Step>
  );
}

/** A second factor is required, and the account has none that counts: it is set up before the login goes on. */
function Enrolment({ methods }: { methods: string[] }) {
  const [begun, setBegun] = useState<Begun | null>(null);
  const [code, setCode] = useState("");
  const work = useWork();
  async function byPasskey(): Promise<void> {
    const asked = await beginFactor<BegunPasskey>("passkey");
    if (asked) await enrol(await makePasskey(asked));
  }
  return (
    <Step title={t("mfa.enrol")} work={work}>
      <p>{t("mfa.required")}</p>
      {methods.includes("totp") && (
        <Button
          class="block"
          isResting={work.isBusy}
          onClick={() => void work.run(async () => setBegun(await beginFactor("totp")))}
        >
          <Icon name="smartphone" />
          {t("mfa.app")}
        </Button>
      )}
      {methods.includes("passkey") && hasPasskeys() && (
        <Button class="block" isResting={work.isBusy} onClick={() => void work.run(byPasskey)}>
          <Icon name="fingerprint" />
          {t("passkey")}
        </Button>
      )}
      {begun && (
        <Form
          work={work}
          send={() => enrol({ state: begun.state, code: code.replace(/\s/g, "") })}
          submit={t("continue")}
        >
          <Scan begun={begun} />
          <CodeInput label={t("mfa.code.shown")} value={code} change={setCode} isNext />
        </Form>
      )}
      <StartAgain />
    </Step>
  );
}

function RecoveryCodes({ codes }: { codes: string[] }) {
  const work = useWork();
  return (
    <Step title={t("mfa.codes")} work={work}>
      <p>{t("mfa.codes.text")}</p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard reads and copies the codes */}
      <pre dir="ltr" role="group" tabIndex={0} aria-label={t("mfa.codes")}>
        {codes.join("\n")}
      </pre>
      <Button class="primary block" isResting={work.isBusy} onClick={() => void work.run(keptCodes)}>
        {t("mfa.codes.kept")}
      </Button>
    </Step>
  );
}

function TenantChoice({ leave }: { leave: () => void }) {
  const work = useWork();
  return (
    <Step title={t("login.tenant")} work={work}>
      {choices.value?.length === 0 && <p>{t("login.nowhere")}</p>}
      <ul class="choices">
        {choices.value?.map((tenant) => (
          <li key={tenant.id}>
            <Button isResting={work.isBusy} onClick={() => void work.run(() => way.enter(tenant.id))}>
              <Icon name="building-2" />
              <bdi>{tenant.name}</bdi>
              <Icon name="chevron-right" />
            </Button>
          </li>
        ))}
      </ul>
      <StartAgain act={leave} />
    </Step>
  );
}

interface MailProps {
  title: string;
  /** The endpoint that sends a mail to an address. */
  path: string;
  /** Why a mail is needed. */
  told?: string;
  children?: ComponentChildren;
}

/** Asks for a mail with a new link. The answer is the same for every address. */
export function AskForMail({ title, path, told, children }: MailProps) {
  const [isSent, setSent] = useState(false);
  const work = useWork();
  async function send(): Promise<void> {
    await call("POST", path, { json: { email: email.value.trim() }, isAnonymous: true });
    setSent(true);
  }
  return (
    <Step title={title} work={work} told={isSent ? "" : told}>
      {isSent ? (
        <Told text={t("mail.sent")} isGood />
      ) : (
        <Form work={work} send={send} submit={t("mail.send")}>
          <p>{t("mail.text")}</p>
          <EmailInput autocomplete="email" />
        </Form>
      )}
      {children}
    </Step>
  );
}
