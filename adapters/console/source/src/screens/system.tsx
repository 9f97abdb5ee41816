// The service: whether it is ready, and what the caller's own requests took. For super-admins.
import { ApiError, address, send } from "../api/api";
import { Icon } from "../parts/Icon";
import { Ready, useLoaded } from "../parts/States";
import { Title } from "../parts/Title";
import { t, time } from "../words/words";

interface Health {
  status: string;
  database: boolean;
  redis: boolean;
}

async function health(): Promise<Health & { at: string }> {
  const at = new Date().toISOString();
  try {
    return { ...((await (await send("GET", "/health/ready")).json()) as Health), at };
  } catch (error) {
    if (error instanceof ApiError && error.status === 503)
      return { status: "unavailable", database: false, redis: false, at };
    throw error;
  }
}

const Light = ({ isGood, name }: { isGood: boolean; name: string }) => (
  <span class={isGood ? "badge good" : "badge bad"}>
    <Icon name={isGood ? "circle-check" : "circle-alert"} />
    {name}
  </span>
);

export function System() {
  const loaded = useLoaded(health, []);
  return (
    <>
      <div class="head">
        <Title>{t("system")}</Title>
        <span class="space" />
        <button type="button" onClick={() => void loaded.reload()}>
          <Icon name="refresh-cw" />
          {t("reload")}
        </button>
      </div>
      <Ready loaded={loaded}>
        {(now) => (
          <section class="panel">
            <h2>{t("system.ready")}</h2>
            <dl class="facts">
              <dt>{t("members.state")}</dt>
              <dd>
                <Light isGood={now.status === "ready"} name={now.status} />
              </dd>
              <dt>PostgreSQL</dt>
              <dd>
                <Light isGood={now.database} name={t(now.database ? "system.up" : "system.down")} />
              </dd>
              <dt>Redis</dt>
              <dd>
                <Light isGood={now.redis} name={t(now.redis ? "system.up" : "system.down")} />
              </dd>
              <dt>{t("system.at")}</dt>
              <dd>{time(now.at)}</dd>
            </dl>
          </section>
        )}
      </Ready>
      <section class="panel">
        <h2>{t("system.links")}</h2>
        <p class="row">
          <a class="button" href={address("/docs/index.html").href} target="_blank" rel="noopener">
            <Icon name="external-link" />
            {t("api.docs")}
          </a>
          <a class="button" href={address("/.well-known/jwks.json").href} target="_blank" rel="noopener">
            <Icon name="key-round" />
            {t("system.keys")}
          </a>
        </p>
      </section>
    </>
  );
}
