// Sessions of an account, the caller's own or those of a member: each can be ended.

import { call } from "../api/api";
import type { SessionItem } from "../api/types";
import { Icon } from "../parts/Icon";
import { Ready, useLoaded } from "../parts/States";
import { attempt } from "../parts/Toast";
import { ago, exactTime, t } from "../words/words";

interface Props {
  path: string;
  mayEnd: boolean;
  endAll: (reload: () => Promise<void>) => Promise<void>;
}

/** Browsers by the words of their names, the more particular ones first: most claim to be Chrome and Safari as well. */
const BROWSERS: [word: RegExp, name: string][] = [
  [/\bEdg(?:e|A|iOS)?\//, "Edge"],
  [/\bOPR\//, "Opera"],
  [/\bFirefox\/|\bFxiOS\//, "Firefox"],
  [/Chrome\/|\bCriOS\//, "Chrome"],
  [/\bSafari\//, "Safari"],
];
const SYSTEMS: [word: RegExp, name: string][] = [
  [/\biPhone\b/, "iPhone"],
  [/\biPad\b/, "iPad"],
  [/\bAndroid\b/, "Android"],
  [/\bWindows\b/, "Windows"],
  [/\bMac OS X\b/, "macOS"],
  [/\bLinux\b|\bX11\b/, "Linux"],
];

/** `Firefox · Windows`; what is no browser keeps the words that it sent. */
function deviceOf(sent: string): string {
  const named = (names: [RegExp, string][]) => names.find(([word]) => word.test(sent))?.[1];
  const known = [named(BROWSERS), named(SYSTEMS)].filter(Boolean);
  return known.length === 2 ? known.join(" · ") : sent || t("sessions.unknown");
}

export function Sessions({ path, mayEnd, endAll }: Props) {
  const loaded = useLoaded(async () => (await call<{ items: SessionItem[] }>("GET", path)).data.items, [path]);
  async function end(session: SessionItem): Promise<void> {
    if (await attempt(() => call("DELETE", `${path}/${session.id}`), "sessions.ended")) await loaded.reload();
  }
  return (
    <section class="panel">
      <div class="row">
        <h2>{t("sessions")}</h2>
        <span class="space" />
        {mayEnd && (
          <button type="button" class="quiet-danger" onClick={() => void endAll(loaded.reload)}>
            {t("sessions.all")}
          </button>
        )}
      </div>
      <Ready loaded={loaded}>
        {(sessions) => (
          <ul class="sessions">
            {sessions.length === 0 && <li class="muted">{t("sessions.none")}</li>}
            {sessions.map((session) => (
              <li key={session.id} class="session">
                <Icon name="monitor" class="muted" />
                <div class="what">
                  <bdi title={session.device}>{deviceOf(session.device)}</bdi>
                  <p class="muted small">
                    <bdi>{session.address}</bdi> ·{" "}
                    <time title={exactTime(session.lastUsedAt)}>{ago(session.lastUsedAt)}</time>
                  </p>
                </div>
                {session.isCurrent ? (
                  <span class="badge good">{t("sessions.this")}</span>
                ) : (
                  mayEnd && (
                    <button type="button" onClick={() => void end(session)}>
                      {t("sessions.end")}
                    </button>
                  )
                )}
              </li>
            ))}
          </ul>
        )}
      </Ready>
    </section>
  );
}
