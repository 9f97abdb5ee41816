// Start of the console: language and theme, the session of before, then the screens.
import { render } from "preact";
import { keepFocus } from "./parts/focus";
import { Shell } from "./parts/Shell";
import { listen } from "./session/routes";
import { resume, state } from "./session/session";
import { startTheme } from "./session/theme";
import { startLanguage } from "./words/languages";

async function start(): Promise<void> {
  startTheme();
  listen();
  keepFocus();
  const root = document.getElementById("app");
  if (!root) return;
  await Promise.all([startLanguage(), resume().catch(() => (state.value = "offline"))]);
  // what stands there for those who wait long
  root.replaceChildren();
  render(<Shell />, root);
}

void start();
