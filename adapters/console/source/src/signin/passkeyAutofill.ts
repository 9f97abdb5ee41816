// Passkeys in the browser's list below the field of the e-mail.
import { useEffect, useRef } from "preact/hooks";
import { offersPasskeys, type Shown } from "../session/passkeys";
import { choosePasskey } from "./login";

/** Asks for the list when somebody comes to the field, since each page that is only looked at would count towards the
 * limit of logins. Nothing is told of a list that fails, for which nobody asked; `chosen` signs in by a passkey of it. */
export function usePasskeyAutofill(chosen: (shown: Shown) => Promise<void>) {
  const waiting = useRef<AbortController | null>(null);
  const end = () => waiting.current?.abort();
  useEffect(() => end, []);
  async function begin(): Promise<void> {
    // Whoever only looks at the page has touched nothing: a field that has the focus from the start asks for nothing.
    if (waiting.current || navigator.userActivation?.hasBeenActive === false) return;
    waiting.current = new AbortController();
    const { signal } = waiting.current;
    const shown = (await offersPasskeys()) && (await choosePasskey(signal).catch(() => null));
    if (!shown || signal.aborted) return;
    await chosen(shown);
    // the list is there again for whoever was refused
    waiting.current = null;
  }
  return { begin: () => void begin(), end };
}
