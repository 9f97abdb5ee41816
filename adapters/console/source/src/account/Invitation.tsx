// /account/invitation: shows what an invitation's link is for, and answers it.
import { useEffect, useState } from "preact/hooks";
import { ApiError, address, call } from "../api/api";
import type { TokenResult } from "../session/tokens";
import { decoded, exclusively, isRemembered, post } from "../session/tokens";
import { AccountInput, bodyOf, Input, NewPassword, PasswordInput } from "../signin/fields";
import { Form, Step, Told, useWork, type Work } from "../signin/Step";
import { longDate, t } from "../words/words";
import { PageLink, Sentence } from "./Frame";
import { CodeForm, link } from "./Mail";
import { callAs } from "./way";

/** Keeps the invitation while its reader signs in on the other page. */
const KEPT = "tenantry.invitation";

interface Offer {
  invitedBy: string;
  tenant: { name: string };
  email: string;
  expiresAt: string;
  accountExists: boolean;
  /** Of the session that this browser has with the invited address. */
  bearer: string;
}

interface Answer {
  text: string;
  isMember: boolean;
}

/** A link that serves nothing any more, where nothing else of the page does. */
class Dead extends Error {}

/** What the service says to the token, with the sentence of a dead link. */
async function ask<T>(path: string, json: object): Promise<T> {
  try {
    return (await call<T>("POST", `/api/auth/${path}`, { json, isAnonymous: true })).data;
  } catch (error) {
    const isDead = error instanceof ApiError && error.fields.some(({ field }) => field === "token");
    throw isDead ? new Dead(t("invitation.dead")) : error;
  }
}

/** The token of this browser's session, if it is that of the address. */
async function signedIn(email: string): Promise<string> {
  if (!isRemembered()) return "";
  try {
    const { token } = await exclusively(() => post("/refresh", {}));
    const me = await callAs<{ email: string }>(token, "GET", "/api/auth/me");
    return me.email.toLowerCase() === email.toLowerCase() ? token : "";
  } catch {
    return "";
  }
}

async function offerOf(token: string): Promise<Offer> {
  const offer = await ask<Offer>("invitations/preview", { token });
  return { ...offer, bearer: offer.accountExists ? await signedIn(offer.email) : "" };
}

/** Ends the session of a login that served for this page alone: nobody keeps its tokens, and its user would see it. */
async function leave({ token }: TokenResult): Promise<void> {
  // It ends by itself, and the invitation is accepted all the same.
  await callAs(token, "DELETE", `/api/auth/sessions/${decoded(token).sid}`).catch(() => {});
}

/** Passkeys, second factors and accounts elsewhere are asked for on the page for signing in, which leads back here. */
function elsewhere(token: string): void {
  sessionStorage.setItem(KEPT, token);
  location.assign(address("account/login?then=invitation"));
}

function tokenOf(given: URLSearchParams): string {
  const token = given.get("token") ?? sessionStorage.getItem(KEPT) ?? "";
  sessionStorage.removeItem(KEPT);
  return token;
}

export function Invitation() {
  const [token, setToken] = useState("");
  const [offer, setOffer] = useState<Offer | null>(null);
  const [answer, setAnswer] = useState<Answer | null>(null);
  /** Whether there is no link, or none that serves: then the code of the mail may. */
  const [isLost, setLost] = useState(false);
  const work = useWork();
  const entering = useWork();
  const given = link.value;
  useEffect(() => {
    const found = tokenOf(given);
    setToken(found);
    setOffer(null);
    setAnswer(null);
    if (!found) return setLost(true);
    void work.run(() =>
      living(async () => {
        setOffer(await offerOf(found));
        setLost(false);
      }),
    );
  }, [given]);
  /** Sends a request; a dead link leaves nothing to answer. */
  async function living(request: () => Promise<void>): Promise<void> {
    try {
      await request();
    } catch (error) {
      if (error instanceof Dead) {
        setOffer(null);
        setLost(true);
      }
      throw error;
    }
  }
  const send = (act: () => Promise<Answer | null>) => living(async () => setAnswer(await act()));
  const title = t("invitation.title");
  if (answer)
    return (
      <Step key="answer" title={title} work={work}>
        <Told text={answer.text} isGood />
        {answer.isMember && (
          <p>
            <PageLink to="login">{t("login.title")}</PageLink>
          </p>
        )}
      </Step>
    );
  return (
    <Step key={isLost ? "code" : "offer"} title={title} work={work}>
      {isLost && (
        <>
          <p>{t("invitation.none")}</p>
          <CodeForm work={entering} />
        </>
      )}
      {offer && <Offered offer={offer} token={token} work={work} send={send} />}
    </Step>
  );
}

interface OfferedProps {
  offer: Offer;
  token: string;
  work: Work;
  send: (act: () => Promise<Answer | null>) => Promise<void>;
}

function Offered({ offer, token, work, send }: OfferedProps) {
  const decline = async () => {
    await ask("invitations/decline", { token });
    return { text: t("invitation.declined-now"), isMember: false };
  };
  const Ways = offer.bearer ? Join : offer.accountExists ? Known : Newcomer;
  const places = {
    inviter: offer.invitedBy,
    email: <b>{offer.email}</b>,
    tenant: <b>{offer.tenant.name}</b>,
    ends: <time dateTime={offer.expiresAt}>{longDate(offer.expiresAt)}</time>,
  };
  return (
    <>
      <p>
        <Sentence text="invitation.offer" places={places} />
      </p>
      <Ways offer={offer} token={token} work={work} send={send} />
      <Form work={work} send={() => send(decline)} submit={t("invitation.decline")} isSecond />
    </>
  );
}

function Join({ offer, token, work, send }: OfferedProps) {
  const join = async () => {
    await callAs(offer.bearer, "POST", "/api/auth/invitations/accept", { token });
    return { text: t("invitation.joined-now"), isMember: true };
  };
  return (
    <Form work={work} send={() => send(join)} submit={t("invitation.join")}>
      <p>{t("invitation.signed-in")}</p>
    </Form>
  );
}

function Known({ offer, token, work, send }: OfferedProps) {
  const [password, setPassword] = useState("");
  const join = async () => {
    let entered: TokenResult;
    try {
      entered = await ask<TokenResult>("login", { email: offer.email, password, isPasswordEncrypted: false });
    } catch (error) {
      if (!(error instanceof ApiError && error.mfa)) throw error;
      elsewhere(token);
      return null;
    }
    try {
      await callAs(entered.token, "POST", "/api/auth/invitations/accept", { token });
    } finally {
      await leave(entered);
    }
    return { text: t("invitation.joined-now"), isMember: true };
  };
  return (
    <>
      <Form work={work} send={() => send(join)} submit={t("invitation.login")}>
        <p>{t("invitation.known")}</p>
        <AccountInput value={offer.email} />
        <PasswordInput value={password} change={setPassword} />
      </Form>
      <button type="button" class="block" onClick={() => elsewhere(token)}>
        {t("invitation.elsewhere")}
      </button>
    </>
  );
}

function Newcomer({ offer, token, work, send }: OfferedProps) {
  const [fullName, setName] = useState("");
  const [chosen, choose] = useState({ password: "", repeated: "" });
  const join = async () => {
    const account = { token, fullName, ...bodyOf(chosen) };
    try {
      await leave(await ask<TokenResult>("invitations/accept", account));
    } catch (error) {
      // The account is made: where a second factor is required, it is set up with the first sign-in.
      if (!(error instanceof ApiError && error.mfa)) throw error;
    }
    return { text: t("invitation.made"), isMember: true };
  };
  return (
    <Form work={work} send={() => send(join)} submit={t("invitation.make")}>
      <p>{t("invitation.new")}</p>
      <AccountInput value={offer.email} />
      <Input label={t("full-name")} name="name" autocomplete="name" value={fullName} change={setName} />
      <NewPassword chosen={chosen} change={choose} />
    </Form>
  );
}
