// Start of an account page, in the language that the service chose.
import { render } from "preact";
import { ApiError, address, errorOf } from "../api/api";
import { keepFocus } from "../parts/focus";
import { errorText } from "../parts/Toast";
import { goOn, refused, startAgain } from "../signin/login";
import { speak, type Texts } from "../words/words";
import { Frame } from "./Frame";
import { Invitation } from "./Invitation";
import { Login, Register } from "./Login";
import { Confirm, Reset, readLink } from "./Mail";
import { type Outcome, page } from "./page";
import { Security } from "./Security";

const PAGES = { login: Login, register: Register, confirm: Confirm, reset: Reset, invitation: Invitation };

/** Goes on with a login that began at a provider. */
async function resume(outcome: Outcome): Promise<void> {
  // its address is of no more use
  history.replaceState(null, "", address("account/login").href + page.query);
  try {
    if ("data" in outcome) await goOn(outcome.data as never);
    else refused(errorOf(outcome));
  } catch (error) {
    startAgain(error instanceof ApiError ? errorText(error) : String(error));
  }
}

export async function start(language: string, texts: Texts, answers: Texts | null): Promise<void> {
  speak(language, texts, answers);
  const root = document.getElementById("app");
  if (!root) return;
  if (page.outcome) await resume(page.outcome);
  // what stands there for those who wait long
  root.replaceChildren();
  if (page.name === "security") {
    keepFocus();
    return render(<Security />, root);
  }
  if (page.name !== "login" && page.name !== "register") readLink();
  const Shown = PAGES[page.name];
  render(
    <Frame>
      <Shown />
    </Frame>,
    root,
  );
}
