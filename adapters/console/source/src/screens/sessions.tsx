// Sessions of an account, the caller's own or those of a member: each can be ended.
import { call } from "../api/api";
import { Icon } from "../parts/Icon";
import { Ready, useLoaded } from "../parts/States";
import { failed, toast } from "../parts/Toast";
import { ago, exactTime, t } from "../words/words";

interface Session {
  id: string;
  device: string;
  address: string;
  lastUsedAt: string;
  isCurrent?: boolean;
}

interface Props {
  path: string;
  mayEnd: boolean;
  endAll: (reload: () => Promise<void>) => Promise<void>;
}

export function Sessions({ path, mayEnd, endAll }: Props) {
  const loaded = useLoaded(async () => (await call<{ items: Session[] }>("GET", path)).data.items, [path]);
  async function end(session: Session): Promise<void> {
    try {
      await call("DELETE", `${path}/${session.id}`);
      toast(t("sessions.ended"));
      await loaded.reload();
    } catch (error) {
      failed(error);
    }
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
                  <bdi>{session.device || t("sessions.unknown")}</bdi>
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
