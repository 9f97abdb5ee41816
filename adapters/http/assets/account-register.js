import { at, begin, byId, call, hideEmpty, main, on, paint, tell } from "./account-api.js";
import { finish, signIn } from "./account-ways.js";
import { t } from "./account-words.js";

on("register-form", async () => {
  const [email, password] = [byId("email").value, byId("password").value];
  if (password !== byId("repeated").value) return tell(t("say.differ"), true);
  const fullName = byId("name").value;
  await call("POST", "api/auth/register", { body: { email, password, fullName, isPasswordEncrypted: false } });
  try {
    const result = await signIn("password", { email, password, isPasswordEncrypted: false });
    if (!result.requiresTenantSelection) return await finish(result.token);
  } catch (said) {
    byId("register-form").hidden = true;
    if (said.errorCode === "EMAIL_NOT_CONFIRMED") {
      return tell(t("say.registered"), false);
    }
  }
  // A second factor, or a tenant, is asked for on the page that asks for it of everybody.
  location.replace(at(`account/login${main.dataset.query}`));
});

paint();
hideEmpty();
begin(byId("name"));
