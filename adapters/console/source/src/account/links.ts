// What stands behind the # of a link in a mail. It goes to our own API and nowhere else.
import { signal } from "@preact/signals";

export const link = signal(new URLSearchParams());

/** Takes the link out of the address, so that neither the history nor a copied address has it. */
export function readLink(): void {
  link.value = new URLSearchParams(location.hash.slice(1));
  history.replaceState(null, "", location.pathname);
}

// A link in the address bar of an open page. One that was read before the browser tells of it stays as it is.
addEventListener("hashchange", () => location.hash && readLink());
