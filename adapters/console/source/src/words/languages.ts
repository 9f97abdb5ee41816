// Languages of the console. English is part of it; another language is fetched when somebody asks for it.
import en from "./en";
import { speak, type Texts } from "./words";

/** A language other than English: the texts of the console in the order of the English keys, and the sentences of the API
 * by their English text. */
interface Translation {
  default: string[];
  answers: Texts;
}

const LOADERS: Record<string, () => Promise<Translation>> = { de: () => import("./de") };
export const LANGUAGES: [code: string, name: string][] = [
  ["en", "English"],
  ["de", "Deutsch"],
];
const KEPT = "tenantry.language";

export async function startLanguage(): Promise<void> {
  const kept = localStorage.getItem(KEPT);
  const wanted = [kept, ...navigator.languages.map((name) => name.split("-")[0] ?? "")];
  const code = wanted.find((name) => name && LANGUAGES.some(([known]) => known === name)) ?? "en";
  // English is part of the page, and better than none
  await applyLanguage(code).catch(() => applyLanguage("en"));
}

export async function chooseLanguage(code: string): Promise<void> {
  localStorage.setItem(KEPT, code);
  await applyLanguage(code);
}

async function applyLanguage(code: string): Promise<void> {
  const loaded = await LOADERS[code]?.();
  const translated = Object.entries(en).map(([key, text], at) => [key, loaded?.default[at] ?? text]);
  speak(code, Object.fromEntries(translated), loaded?.answers ?? null);
}
