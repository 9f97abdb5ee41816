// The state of the service for super-admins: readiness, background jobs, mails, keys, settings without their secrets.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { address, call } from "../api/api";
import type { GivenUpMail, JobResult, KeyItem, SettingItem, SystemReport, TrafficPoint } from "../api/types";
import { sizeText } from "../forms/fileWords";
import { Icon } from "../parts/Icon";
import { type Bar, Plots, type Series } from "../parts/Plot";
import { type Loaded, Ready, useLoaded } from "../parts/States";
import { Table } from "../parts/Table";
import { Head } from "../parts/Title";
import { ago, exactTime, type Key, number, t, time } from "../words/words";

export function System() {
  const loaded = useLoaded(async () => (await call<SystemReport>("GET", "/api/system")).data, []);
  const traffic = useTraffic();
  return (
    <>
      <Head title={t("system")}>
        <a class="button" href={address("/docs/index.html").href} target="_blank" rel="noopener">
          <Icon name="external-link" />
          {t("api.docs")}
        </a>
        <button type="button" onClick={() => (void loaded.reload(), void traffic.reload())}>
          <Icon name="refresh-cw" />
          {t("reload")}
        </button>
      </Head>
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
              >
                {report.mail.oldest && (
                  <>
                    {t("system.waiting", { count: report.mail.waiting })} · <Ago at={report.mail.oldest} />
                  </>
                )}
              </State>
              <Backup last={report.jobs.find(({ job }) => job === "backup")} />
            </div>
            <Traffic loaded={traffic} />
            <Jobs results={report.jobs} />
            <Mails mails={report.mail.givenUp} />
            <Keys keys={report.keys} />
            <Settings settings={report.settings} />
          </>
        )}
      </Ready>
    </>
  );
}

const Ago = ({ at }: { at: string }) => (
  <time dateTime={at} title={exactTime(at)}>
    {ago(at)}
  </time>
);

interface StateProps {
  name: string;
  text: string;
  isGood?: boolean;
  children?: ComponentChildren;
}

function State({ name, text, isGood, children }: StateProps) {
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
      <span class="muted small">{children}</span>
    </div>
  );
}

const Backup = ({ last }: { last: JobResult | undefined }) => (
  <div class="tile">
    <span class="muted">{t("system.backup")}</span>
    <span>{last ? <Ago at={last.at} /> : t("system.backup.none")}</span>
    <span class="muted small">{last && sizeText(last.amount)}</span>
  </div>
);

const JOBS: [JobResult["job"], Key][] = [
  ["cleaning", "system.cleaning"],
  ["tables", "system.tables"],
  ["unusedFiles", "system.unusedFiles"],
  ["keyExpiry", "system.keyExpiry"],
  ["domains", "system.domains"],
];

function Jobs({ results }: { results: JobResult[] }) {
  const rows = JOBS.map(([job, name]) => ({ id: job, name, last: results.find((result) => result.job === job) }));
  return (
    <section class="section">
      <h2>{t("system.jobs")}</h2>
      <Table
        rows={rows}
        columns={[
          { title: t("system.job"), cell: ({ name }) => t(name) },
          { title: t("system.ran"), class: "muted", cell: ({ last }) => (last ? <Ago at={last.at} /> : t("never")) },
          {
            title: t("system.result"),
            cell: ({ last }) =>
              last && (
                <span class={`badge ${last.hasFailed ? "bad" : "good"}`}>
                  <Icon name={last.hasFailed ? "circle-alert" : "circle-check"} />
                  {t(last.hasFailed ? "system.failed" : "system.succeeded")}
                </span>
              ),
          },
          {
            title: t("system.worked"),
            class: "muted",
            cell: ({ last }) =>
              last?.workedAt && (
                <>
                  {number(last.amount)} · <Ago at={last.workedAt} />
                </>
              ),
          },
        ]}
      />
    </section>
  );
}

function Mails({ mails }: { mails: GivenUpMail[] }) {
  if (!mails.length) return null;
  return (
    <section class="section">
      <h2>{t("system.givenUp")}</h2>
      <Table
        rows={mails}
        columns={[
          { title: t("email"), cell: (mail) => <bdi>{mail.recipient}</bdi> },
          { title: t("system.kind"), cell: (mail) => mail.kind },
          {
            title: t("system.at"),
            class: "muted",
            cell: (mail) => <Ago at={mail.at} />,
          },
          {
            title: t("import.message"),
            cell: (mail) => (
              <>
                <bdi>{mail.reason}</bdi> <span class="muted small">{t("system.tries", { count: mail.tries })}</span>
              </>
            ),
          },
        ]}
      />
    </section>
  );
}

function Keys({ keys }: { keys: KeyItem[] }) {
  return (
    <section class="section">
      <h2>{t("system.keys")}</h2>
      <Table
        rows={keys}
        hasHead={false}
        isStacked
        columns={[
          { title: "id", cell: (key) => <code>{key.id}</code> },
          { title: "algorithm", cell: (key) => key.algorithm },
          { title: "since", class: "muted", cell: (key) => time(key.activeFrom) },
          { title: "used", cell: (key) => key.isUsed && <span class="badge good">{t("system.used")}</span> },
        ]}
      />
    </section>
  );
}

function sourceOf({ source, isDefault }: SettingItem) {
  if (source === "environment") return t("system.environment");
  return source ? <code>{source}</code> : t(isDefault ? "system.default" : "system.chosen");
}

function Settings({ settings }: { settings: SettingItem[] }) {
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
      <Table
        rows={shown}
        id={(setting) => setting.name}
        columns={[
          { title: t("system.setting"), cell: (setting) => <code>{setting.name}</code> },
          {
            title: t("value"),
            cell: ({ isSecret, value }) =>
              isSecret ? <span class="muted">{t("system.secret")}</span> : <bdi class="mono">{value ?? ""}</bdi>,
          },
          { title: t("system.source"), class: "muted", cell: sourceOf },
        ]}
      />
    </section>
  );
}

/** Points of less than this are of the minute that still runs: a rate of them says little. */
const SHORTEST = 5; // seconds

function barsOf(points: TrafficPoint[]): Bar[] {
  return points
    .filter((point) => point.seconds >= SHORTEST)
    .map((point) => {
      const to = Date.parse(point.at);
      const minutes = point.seconds / 60;
      return {
        from: to - point.seconds * 1_000,
        to,
        values: {
          requests: point.requests / minutes,
          p50: point.p50,
          p99: point.p99,
          errors: point.errors / minutes,
          refused: point.refused / minutes,
        },
      };
    });
}

const useTraffic = () =>
  useLoaded(async () => {
    const { data } = await call<{ points: TrafficPoint[] }>("GET", "/api/system/traffic");
    return barsOf(data.points);
  }, []);

function Traffic({ loaded }: { loaded: Loaded<Bar[]> }) {
  const series: Series[] = [
    { name: "requests", title: t("traffic.requests"), colour: "accent" },
    { name: "p99", title: t("traffic.p99"), unit: " ms", colour: "accent" },
    { name: "errors", title: t("traffic.errors"), colour: "bad" },
    { name: "refused", title: t("traffic.refused"), colour: "warn" },
  ];
  return (
    <section class="section">
      <h2>{t("traffic")}</h2>
      <Ready loaded={loaded}>
        {(bars) =>
          bars.length ? (
            <Plots bars={bars} series={series} label={t("traffic")} />
          ) : (
            <p class="muted">{t("traffic.none")}</p>
          )
        }
      </Ready>
    </section>
  );
}
