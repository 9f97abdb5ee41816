// The sign-in screen of the console: the steps of a login, a mail for a new password, and the choice of a language.
import { useState } from "preact/hooks";
import { Icon } from "../parts/Icon";
import { failed } from "../parts/Toast";
import { logout } from "../session/session";
import { AskForMail, LoginSteps, Password } from "../signin/steps";
import { chooseLanguage, LANGUAGES } from "../words/languages";
import { language, t } from "../words/words";

export function Login() {
  const [isForgotten, setForgotten] = useState(false);
  return (
    <main class="login">
      <div class="card">
        <p class="brand">
          <Icon name="database" />
          Tenantry
        </p>
        <LoginSteps leave={() => void logout().catch(failed)}>
          {isForgotten ? (
            <AskForMail title={t("reset.title")} path="/api/auth/request-password-reset">
              <button type="button" class="link" onClick={() => setForgotten(false)}>
                {t("login.back")}
              </button>
            </AskForMail>
          ) : (
            <Password>
              <button type="button" class="link" onClick={() => setForgotten(true)}>
                {t("login.forgotten")}
              </button>
            </Password>
          )}
        </LoginSteps>
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
