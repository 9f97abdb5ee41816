// What the audit trail says, in words: its actions are codes, some of which name a domain, settings or an operation.
import en from "./en";
import { type Key, t } from "./words";

const START = "event.";

/** Codes with a place, such as `domain.added:{domain}`: what stands before it and behind it. */
const varying = (Object.keys(en) as Key[])
  .filter((key) => key.startsWith(START) && key.includes("{"))
  .map((key) => {
    const [before = "", name = "", behind = ""] = key.slice(START.length).split(/[{}]/);
    return { key, before, name, behind };
  });

/** Words for an action; one that the console does not know stays as it is. */
export function eventText(action: string): string {
  if (START + action in en) return t((START + action) as Key);
  for (const { key, before, name, behind } of varying) {
    const place = action.slice(before.length, action.length - behind.length);
    if (place && action === before + place + behind) return t(key, { [name]: place });
  }
  return action;
}
