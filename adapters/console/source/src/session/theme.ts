// Light or dark, dense or not: kept in this browser, applied as attributes that the style sheets read.
import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";
export const THEMES: Theme[] = ["system", "light", "dark"];
export const theme = signal<Theme>("system");
export const isDense = signal(false);
/** Height of a row of a grid in pixels; the style sheet has the same two numbers. */
export const rowHeight = () => (isDense.value ? 28 : 36);

export function startTheme(): void {
  const kept = localStorage.getItem("tenantry.theme");
  theme.value = THEMES.find((name) => name === kept) ?? "system";
  isDense.value = localStorage.getItem("tenantry.dense") === "yes";
  effect(() => {
    document.documentElement.dataset.theme = theme.value;
    localStorage.setItem("tenantry.theme", theme.value);
  });
  effect(() => {
    document.documentElement.dataset.dense = String(isDense.value);
    localStorage.setItem("tenantry.dense", isDense.value ? "yes" : "no");
  });
}
