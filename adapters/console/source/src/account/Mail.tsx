// /account/confirm and /account/reset: what links in mails are for. Opening one does nothing by itself.
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { ApiError, call } from "../api/api";
import { AccountInput, bodyOf, EmailInput, email, Input, NewPassword } from "../signin/fields";
import { Form, Step, Told, useWork, type Work } from "../signin/Step";
import { AskForMail } from "../signin/steps";
import { t } from "../words/words";
import { PageLink, Sentence } from "./Frame";

/** What stands behind the # of a link in a mail. It goes to our own API and nowhere else. */
export const link = signal(new URLSearchParams());

/** Takes the link out of the address, so that neither the history nor a copied address has it. */
export function readLink(): void {
  link.value = new URLSearchParams(location.hash.slice(1));
  history.replaceState(null, "", location.pathname);
}

// A link in the address bar of an open page. One that was read before the browser tells of it stays as it is.
addEventListener("hashchange", () => location.hash && readLink());

/** What was typed as the code of a mail. It stays, so that a slip can be corrected. */
const typed = signal("");

interface CodeProps {
  work: Work;
  /** The field for the address, where the code needs it. */
  children?: ComponentChildren;
}

/** Takes the code of a mail for its link: mail programs and gateways may have cut what stood behind the #. */
export function CodeForm({ work, children }: CodeProps) {
  async function open(): Promise<void> {
    const said = { email: email.value.trim(), token: typed.value.trim() };
    if (!said.token || (children && !said.email)) throw new Error(t("mail.dead"));
    link.value = new URLSearchParams(said);
  }
  return (
    <Form work={work} send={open} submit={t("continue")}>
      {children}
      <Input
        label={t("code.label")}
        name="code"
        autocomplete="one-time-code"
        value={typed.value}
        change={(text) => (typed.value = text)}
      />
    </Form>
  );
}

interface LinklessProps {
  title: string;
  /** The endpoint that sends a mail. */
  path: string;
  isDead: boolean;
  /** Whether the code is asked for first, and a new mail offered. */
  hasMail?: boolean;
}

/** The page without a link that works: asks for the code of a mail, or for the address to send one to. */
function Linkless({ title, path, isDead, hasMail = false }: LinklessProps) {
  const [types, setTypes] = useState(typed.value !== "" || (hasMail && !isDead));
  const work = useWork();
  const told = isDead ? t("mail.dead") : "";
  const other = (
    <button type="button" class="block" onClick={() => setTypes(!types)}>
      {t(types ? "mail.send" : "code.enter")}
    </button>
  );
  if (!types)
    return (
      <AskForMail key="mail" title={title} path={path} told={told}>
        {other}
      </AskForMail>
    );
  return (
    <Step key="code" title={title} work={work} told={told}>
      <CodeForm work={work}>
        <EmailInput autocomplete="email" />
      </CodeForm>
      {other}
    </Step>
  );
}

/** Uses the link: true once it is done, and the reason why a new mail is needed. */
function useLink(path: string) {
  const [used, setUsed] = useState<URLSearchParams | null>(null);
  const [dead, setDead] = useState<URLSearchParams | null>(null);
  const work = useWork();
  const [whose, token] = [link.value.get("email"), link.value.get("token")];
  async function send(more: object = {}): Promise<void> {
    try {
      await call("POST", path, { json: { email: whose, token, ...more }, isAnonymous: true });
      setUsed(link.value);
    } catch (error) {
      if (!(error instanceof ApiError && error.fields.some(({ field }) => field === "token"))) throw error;
      email.value = whose ?? "";
      setDead(link.value);
    }
  }
  const isWhole = whose !== null && token !== null;
  const isDead = dead === link.value;
  return { work, send, whose: whose ?? "", isDone: used === link.value, isDead, isUsable: isWhole && !isDead };
}

const Done = ({ title, text }: { title: string; text: string }) => (
  <Step title={title} work={useWork()}>
    <Told text={text} isGood />
    <p>
      <PageLink to="login">{t("login.title")}</PageLink>
    </p>
  </Step>
);

export function Confirm() {
  const { work, send, whose, isDone, isDead, isUsable } = useLink("/api/auth/confirm-email");
  const title = t("confirm.title");
  if (isDone) return <Done title={title} text={t("confirm.done")} />;
  if (!isUsable) return <Linkless title={title} path="/api/auth/resend-confirmation" isDead={isDead} hasMail />;
  return (
    <Step title={title} work={work}>
      <p>
        <Sentence text="confirm.please" places={{ whose: <strong>{whose}</strong> }} />
      </p>
      <Form work={work} send={() => send()} submit={t("confirm.button")} />
      <p>{t("confirm.not-yours")}</p>
      <p>
        <PageLink to="reset">{t("confirm.own-password")}</PageLink>
      </p>
    </Step>
  );
}

export function Reset() {
  const { work, send, whose, isDone, isDead, isUsable } = useLink("/api/auth/reset-password");
  const [chosen, choose] = useState({ password: "", repeated: "" });
  const title = t("reset.title");
  async function set(): Promise<void> {
    const { password: newPassword, ...more } = bodyOf(chosen);
    await send({ newPassword, ...more });
  }
  if (isDone) return <Done title={title} text={t("reset.done")} />;
  if (!isUsable) return <Linkless title={title} path="/api/auth/request-password-reset" isDead={isDead} />;
  return (
    <Step title={title} work={work}>
      <Form work={work} send={set} submit={t("password.set")}>
        <AccountInput value={whose} />
        <NewPassword label={t("password.new")} chosen={chosen} change={choose} />
      </Form>
    </Step>
  );
}
