// /account/login and /account/register: signing in, and making an account.
import { useState } from "preact/hooks";
import { ApiError, address, call } from "../api/api";
import { bodyOf, EmailInput, email, Input, NewPassword } from "../signin/fields";
import { way } from "../signin/login";
import { Form, Step, Told, useWork } from "../signin/Step";
import { LoginSteps, Password } from "../signin/steps";
import { t } from "../words/words";
import { PageLink } from "./Frame";
import { page } from "./page";
import { finish } from "./way";

export const Login = () => (
  <LoginSteps>
    <Password isAlone>
      {page.providers.map(({ name, title }) => (
        <a key={name} class="button block" href={address(`api/auth/social/${name}/start`).href + page.query}>
          {t("login.provider", { provider: title })}
        </a>
      ))}
      <ul class="links">
        <li>
          <PageLink to="reset">{t("login.forgotten")}</PageLink>
        </li>
        {page.isOpen && (
          <li>
            <PageLink to={`register${page.query}`}>{t("register.title")}</PageLink>
          </li>
        )}
      </ul>
    </Password>
  </LoginSteps>
);

export function Register() {
  const [fullName, setName] = useState("");
  const [chosen, choose] = useState({ password: "", repeated: "" });
  const [isMade, setMade] = useState(false);
  const work = useWork();
  async function send(): Promise<void> {
    const account = { email: email.value.trim(), ...bodyOf(chosen) };
    await call("POST", "/api/auth/register", { json: { ...account, fullName }, isAnonymous: true });
    try {
      const result = await way.signIn("password", account);
      if (!result.requiresTenantSelection) return await finish(result.token);
    } catch (error) {
      if (error instanceof ApiError && error.code === "EMAIL_NOT_CONFIRMED") return setMade(true);
    }
    // A second factor, or a tenant, is asked for on the page that asks for it of everybody.
    location.replace(address("account/login").href + page.query);
  }
  return (
    <Step title={t("register.title")} work={work} focus="always">
      {!page.isOpen && <p>{t("register.closed")}</p>}
      {isMade && <Told text={t("register.made")} isGood />}
      {page.isOpen && !isMade && (
        <Form work={work} send={send} submit={t("register.button")}>
          <Input label={t("full-name")} name="name" autocomplete="name" value={fullName} change={setName} />
          <EmailInput />
          <NewPassword chosen={chosen} change={choose} />
        </Form>
      )}
      <p>
        <PageLink to={`login${page.query}`}>{t("register.login")}</PageLink>
      </p>
    </Step>
  );
}
