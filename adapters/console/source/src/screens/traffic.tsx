// Requests of the last hours, as the service counts them: how many, how quick, how many failed or were refused.

import { call } from "../api/api";
import type { TrafficPoint } from "../api/types";
import { type Bar, Plots, type Series } from "../parts/Plot";
import { type Loaded, Ready, useLoaded } from "../parts/States";
import { t } from "../words/words";

/** Points of less than this are of the minute that still runs: a rate of them says little. */
const SHORTEST = 5; // seconds

export function barsOf(points: TrafficPoint[]): Bar[] {
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

export const useTraffic = () =>
  useLoaded(async () => {
    const { data } = await call<{ points: TrafficPoint[] }>("GET", "/api/system/traffic");
    return barsOf(data.points);
  }, []);

export function Traffic({ loaded }: { loaded: Loaded<Bar[]> }) {
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
