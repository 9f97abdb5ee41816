// The state of the service for super-admins: readiness, mails given up, keys, settings without their secrets.
import { useState } from "preact/hooks";
import { address, call } from "../api/api";
import { Icon } from "../parts/Icon";
import { Ready, useLoaded } from "../parts/States";
import { Title } from "../parts/Title";
import { ago, exactTime, t, time } from "../words/words";

interface Setting {
  name: string;
  value: string | null;
  isSecret: boolean;
  isDefault: boolean;
}

interface GivenUp {
  id: string;
  kind: string;
  recipient: string;
  at: string;
  tries: number;
  reason: string;
}

interface Key {
  id: string;
  algorithm: string;
  activeFrom: string;
  isUsed: boolean;
}

interface Report {
  version: string;
  database: boolean;
  redis: boolean;
  mail: { delivery: "smtp" | "files"; givenUp: GivenUp[] };
  keys: Key[];
  settings: Setting[];
}

export function System() {
  const loaded = useLoaded(async () => (await call<Report>("GET", "/api/system")).data, []);
  return (
    <>
      <div class="head">
        <Title>{t("system")}</Title>
        <span class="space" />
        <a class="button" href={address("/docs/index.html").href} target="_blank" rel="noopener">
          <Icon name="external-link" />
          {t("api.docs")}
        </a>
        <button type="button" onClick={() => void loaded.reload()}>
          <Icon name="refresh-cw" />
          {t("reload")}
        </button>
      </div>
      <Ready loaded={loaded}>
        {(report) => (
          <>
            <div class="cards">
              <State name={t("system.version")} text={report.version} />
              <State
                name="PostgreSQL"
                text={t(report.database ? "system.up" : "system.down")}
                isGood={report.database}
              />
              <State name="Redis" text={t(report.redis ? "system.up" : "system.down")} isGood={report.redis} />
              <State
                name={t("system.mail")}
                text={t(report.mail.delivery === "smtp" ? "system.smtp" : "system.files")}
                isGood={report.mail.givenUp.length === 0}
              />
            </div>
            <Mails mails={report.mail.givenUp} />
            <Keys keys={report.keys} />
            <Settings settings={report.settings} />
          </>
        )}
      </Ready>
    </>
  );
}

function State({ name, text, isGood }: { name: string; text: string; isGood?: boolean }) {
  const colour = isGood === undefined ? "" : isGood ? "good" : "bad";
  return (
    <div class="tile">
      <span class="muted">{name}</span>
      <span>
        <span class={`badge ${colour}`}>
          {isGood !== undefined && <Icon name={isGood ? "circle-check" : "circle-alert"} />}
          {text}
        </span>
      </span>
    </div>
  );
}

function Mails({ mails }: { mails: GivenUp[] }) {
  if (!mails.length) return null;
  return (
    <section class="section">
      <h2>{t("system.givenUp")}</h2>
      <div class="table-box">
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">{t("email")}</th>
              <th scope="col">{t("system.kind")}</th>
              <th scope="col">{t("system.at")}</th>
              <th scope="col">{t("import.message")}</th>
            </tr>
          </thead>
          <tbody>
            {mails.map((mail) => (
              <tr key={mail.id}>
                <th scope="row">
                  <bdi>{mail.recipient}</bdi>
                </th>
                <td>{mail.kind}</td>
                <td class="muted">
                  <time title={exactTime(mail.at)}>{ago(mail.at)}</time>
                </td>
                <td>
                  <bdi>{mail.reason}</bdi> <span class="muted small">{t("system.tries", { count: mail.tries })}</span>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Keys({ keys }: { keys: Key[] }) {
  return (
    <section class="section">
      <h2>{t("system.keys")}</h2>
      <div class="table-box">
        <table class="plain">
          <tbody>
            {keys.map((key) => (
              <tr key={key.id}>
                <th scope="row">
                  <code>{key.id}</code>
                </th>
                <td>{key.algorithm}</td>
                <td class="muted">{time(key.activeFrom)}</td>
                <td>{key.isUsed && <span class="badge good">{t("system.used")}</span>}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Settings({ settings }: { settings: Setting[] }) {
  const [isAll, setAll] = useState(false);
  const shown = settings.filter((setting) => isAll || !setting.isDefault);
  return (
    <section class="section">
      <div class="row">
        <h2>{t("settings")}</h2>
        <span class="space" />
        <label class="check">
          <input type="checkbox" checked={isAll} onChange={() => setAll(!isAll)} />
          {t("system.all")}
        </label>
      </div>
      <div class="table-box">
        <table class="plain">
          <tbody>
            {shown.map((setting) => (
              <tr key={setting.name}>
                <th scope="row">
                  <code>{setting.name}</code>
                </th>
                <td>
                  {setting.isSecret ? (
                    <span class="muted">{t("system.secret")}</span>
                  ) : (
                    <bdi class="mono">{setting.value ?? ""}</bdi>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
