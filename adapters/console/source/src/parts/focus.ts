// Where the focus goes when what has it goes away: to its neighbour, and not to the top of the page.
import { arrival } from "../session/routes";

const STOPS = "a[href], button, input, select, textarea, [tabindex='0']";

/** What has the focus, and what can take it instead, the nearest first. */
interface Place {
  element: HTMLElement;
  others: HTMLElement[];
}

let place: Place | null = null;
/** The place before a dialog or a message took the focus. */
let before: Place | null = null;

const LAYERS = "dialog, .toasts";

function neighbours(element: HTMLElement): HTMLElement[] {
  // rows of a grid come and go as one scrolls
  const grid = element.closest<HTMLElement>("[role=grid]");
  if (grid) return [grid];
  const around = element.closest(`${LAYERS}, [popover], main, nav`);
  const stops = [...(around?.querySelectorAll<HTMLElement>(STOPS) ?? [])].filter((stop) => stop.tabIndex >= 0);
  const at = stops.indexOf(element);
  return [...stops.slice(at + 1), ...stops.slice(0, Math.max(0, at)).reverse()];
}

function remember(event: FocusEvent): void {
  const element = event.target;
  if (!(element instanceof HTMLElement)) return;
  if (!element.closest(LAYERS)) before = null;
  else if (place && !place.element.closest(LAYERS)) before = place;
  place = { element, others: neighbours(element) };
}

const takes = (element: HTMLElement) =>
  element.isConnected && !element.matches(":disabled") && element.checkVisibility({ visibilityProperty: true });

/** The grid of the screen, else its heading. */
export function focusScreen(): void {
  const [grid, heading] = ["main [role=grid]", "main h1"].map((what) => document.querySelector<HTMLElement>(what));
  (grid ?? heading)?.focus({ preventScroll: true });
}

function mend(): void {
  // whoever goes to another screen is led to its heading
  if (!place || place.element.isConnected || arrival.isNew) return;
  const left = [...place.others, ...(before ? [before.element, ...before.others] : [])];
  place = null;
  before = null;
  if (document.activeElement !== document.body) return;
  const next = left.find(takes);
  if (next) next.focus({ preventScroll: true });
  else focusScreen();
}

export function keepFocus(): void {
  document.addEventListener("focusin", remember);
  new MutationObserver(mend).observe(document.body, { childList: true, subtree: true });
}
