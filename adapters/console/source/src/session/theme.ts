// Light or dark, dense or not: kept in this browser, applied as attributes that the style sheets read.
import { computed, effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";
export const THEMES: Theme[] = ["system", "light", "dark"];
export const theme = signal<Theme>("system");
export const isDense = signal(false);
/** Height of a row of a grid in pixels; the style sheet has the same two numbers. */
export const rowHeight = () => (isDense.value ? 32 : 40);

const system = matchMedia("(prefers-color-scheme: dark)");
const isSystemDark = signal(system.matches);
system.addEventListener("change", () => (isSystemDark.value = system.matches));
export const isDark = computed(() => (theme.value === "system" ? isSystemDark.value : theme.value === "dark"));

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

const READABLE = 5.6; // contrast; 4.5 is required, and tinted grounds reduce it
// the grounds of text that differ least from it
const LIGHT = [243, 244, 247];
const DARK = [28, 32, 38];

/** The tenant's colour as accent, darkened or lightened until it can be read on the light and on the dark ground. */
export function applyAccent(colour: string | null | undefined): void {
  const style = document.documentElement.style;
  for (const name of ["--accent", "--accent-hover", "--soft"]) style.removeProperty(name);
  const parts = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(colour ?? "")?.slice(1);
  if (!parts) return;
  const rgb = parts.map((part) => Number.parseInt(part, 16));
  const accent = `light-dark(${readable(rgb, LIGHT, 0)}, ${readable(rgb, DARK, 255)})`;
  style.setProperty("--accent", accent);
  style.setProperty("--accent-hover", `color-mix(in srgb, ${accent} 85%, light-dark(black, white))`);
  style.setProperty("--soft", `color-mix(in srgb, ${accent} 8%, var(--bg))`);
}

function readable(colour: number[], ground: number[], end: number): string {
  let mixed = colour;
  for (let share = 0; share <= 1; share += 0.05) {
    mixed = colour.map((part) => Math.round(part + (end - part) * share));
    if (contrast(mixed, ground) >= READABLE) break;
  }
  return `rgb(${mixed.join(" ")})`;
}

/** The ratio of WCAG 2: from 1, the same, to 21, black on white. */
function contrast(first: number[], second: number[]): number {
  const [low = 0, high = 0] = [luminance(first), luminance(second)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

function luminance(colour: number[]): number {
  const [red = 0, green = 0, blue = 0] = colour.map((part) => {
    const value = part / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
