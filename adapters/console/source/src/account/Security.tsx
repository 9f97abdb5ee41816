// /account/security: second factors, sessions, accounts elsewhere and the password, for people without the console.
import { useState } from "preact/hooks";
import { ApiError, address, call, isPassing } from "../api/api";
import type { LinkedProvider, Profile } from "../api/types";
import { ask, Questions } from "../parts/Dialog";
import { Icon } from "../parts/Icon";
import { Proof } from "../parts/Proof";
import { Ready, useLoaded } from "../parts/States";
import { attempt, Toasts } from "../parts/Toast";
import { Factors } from "../screens/factors";
import { ChangePassword } from "../screens/password";
import { Sessions } from "../screens/sessions";
import { endSession, exclusively, forgetSession, own, refreshed, STRANGER, token } from "../session/tokens";
import { Told } from "../signin/Step";
import { longDate, t } from "../words/words";
import { PageLink, Sentence } from "./Frame";
import { page } from "./page";

const LOGIN = "login?then=security";

function leave(): void {
  forgetSession();
  location.replace(address(`account/${LOGIN}`));
}

/** Where another user signed in with this browser, nothing of the page is theirs; without a session there is none. */
own.ended = (error) => {
  if (error.code === STRANGER) location.reload();
  else leave();
  return new Promise(() => {}); // the page ends here
};

async function read(): Promise<Profile> {
  if (!token.peek()) {
    try {
      token.value = (await exclusively(() => refreshed(null))).token;
    } catch (error) {
      if (!(error instanceof ApiError) || isPassing(error)) throw error;
      await own.ended(error);
    }
  }
  return (await call<Profile>("GET", "/api/auth/me?include=profile")).data;
}

async function signOut(): Promise<void> {
  if (await attempt(endSession)) leave();
}

async function everywhere(): Promise<void> {
  if (!(await ask(t("sessions.all"), t("sessions.all.text"), t("sessions.all")))) return;
  if (await attempt(() => call("POST", "/api/auth/logout"))) leave();
}

export function Security() {
  const loaded = useLoaded(read, []);
  const [isChanged, setChanged] = useState(false);
  return (
    <main class="account">
      <p class="brand">
        <bdi>{page.service}</bdi>
      </p>
      <h1>{t("security.title")}</h1>
      {isChanged ? (
        <>
          <Told text={t("password.set.done")} isGood />
          <p>
            <PageLink to={LOGIN}>{t("login.title")}</PageLink>
          </p>
        </>
      ) : (
        <Ready loaded={loaded}>
          {({ fullName, email }) => (
            <>
              <p>
                <Sentence text="security.you" places={{ who: <b>{fullName}</b>, whose: <b>{email}</b> }} />
              </p>
              <Factors />
              <Sessions path="/api/auth/sessions" mayEnd endAll={everywhere} />
              <Identities />
              <ChangePassword email={email} done={() => setChanged(true)} />
              <p>
                <button type="button" onClick={() => void signOut()}>
                  {t("logout")}
                </button>
              </p>
            </>
          )}
        </Ready>
      )}
      <Questions />
      <Proof />
      <Toasts />
    </main>
  );
}

const IDENTITIES = "/api/auth/identities";

/** Accounts at providers that open this account too. */
function Identities() {
  const loaded = useLoaded(async () => (await call<LinkedProvider[]>("GET", IDENTITIES)).data, []);
  async function unlink(provider: string): Promise<void> {
    if (await attempt(() => call("DELETE", `${IDENTITIES}/${provider}`), "identities.unlinked")) await loaded.reload();
  }
  return (
    <section class="panel">
      <h2>{t("identities")}</h2>
      <Ready loaded={loaded}>
        {(identities) => (
          <ul class="sessions">
            {identities.length === 0 && <li class="muted">{t("identities.none")}</li>}
            {identities.map(({ provider, linkedAt }) => (
              <li key={provider} class="session">
                <Icon name="key-round" class="muted" />
                <div class="what">
                  <bdi>{provider}</bdi>
                  <p class="muted small">{t("identities.since", { day: longDate(linkedAt) })}</p>
                </div>
                <button
                  type="button"
                  aria-label={t("identities.unlink.name", { name: provider })}
                  onClick={() => void unlink(provider)}
                >
                  {t("identities.unlink")}
                </button>
              </li>
            ))}
          </ul>
        )}
      </Ready>
    </section>
  );
}
