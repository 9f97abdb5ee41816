// Small plots of numbers over time: bars as long as the time that they stand for. The numbers are a table as well.
import { useState } from "preact/hooks";
import { number, shortDate, t, time } from "../words/words";
import { Table } from "./Table";

/** Numbers of the time from `from` to `to`, in milliseconds since 1970; null where there is none. */
export interface Bar {
  from: number;
  to: number;
  values: Record<string, number | null>;
}

export interface Series {
  name: string;
  title: string;
  unit?: string;
  colour: "accent" | "bad" | "warn";
}

const WIDTH = 600;
const HEIGHT = 72;

/** The highest value with one leading digit of 1, 2 or 5: 37 is drawn up to 50. */
function top(highest: number): number {
  if (highest <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(highest));
  return (([1, 2, 5, 10].find((step) => step * power >= highest) ?? 10) * power * 1e9) / 1e9;
}

const written = (value: number | null | undefined, unit = "") =>
  value === null || value === undefined
    ? "–"
    : `${number(value < 10 ? Math.round(value * 10) / 10 : Math.round(value))}${unit}`;

function path(bars: Bar[], name: string, most: number, x: (at: number) => number): string {
  const drawn = bars.filter((bar) => (bar.values[name] ?? 0) > 0);
  return drawn
    .map((bar) => {
      const left = x(bar.from);
      const width = Math.max(1.5, x(bar.to) - left - 0.5);
      const height = Math.max(1, ((bar.values[name] ?? 0) / most) * HEIGHT);
      return `M${left.toFixed(1)} ${HEIGHT}v${(-height).toFixed(1)}h${width.toFixed(1)}v${height.toFixed(1)}z`;
    })
    .join("");
}

interface Props {
  bars: Bar[];
  series: Series[];
  /** What the table is about, for listeners. */
  label: string;
}

export function Plots({ bars, series, label }: Props) {
  const [pointed, point] = useState<Bar | null>(null);
  const start = bars[0]?.from ?? 0;
  const end = bars.at(-1)?.to ?? 1;
  const x = (at: number) => ((at - start) / (end - start || 1)) * WIDTH;
  function follow(event: PointerEvent): void {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const share = (event.clientX - box.left) / box.width;
    const at = start + share * (end - start);
    point(bars.find((bar) => at >= bar.from && at <= bar.to) ?? null);
  }
  return (
    <>
      <div class="plots">
        {series.map(({ name, title, unit, colour }) => {
          const highest = Math.max(0, ...bars.map((bar) => bar.values[name] ?? 0));
          const most = top(highest);
          const shown = pointed ?? bars.at(-1);
          const told = t("plot.told", { now: written(bars.at(-1)?.values[name], unit), most: written(highest, unit) });
          return (
            <figure class="panel plot" key={name}>
              <figcaption>
                <span class="muted">{title}</span>
                <strong>{written(shown?.values[name], unit)}</strong>
              </figcaption>
              <svg
                viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
                preserveAspectRatio="none"
                role="img"
                aria-label={`${title}: ${told}`}
                onPointerMove={follow}
                onPointerLeave={() => point(null)}
              >
                <path class="ground" d={`M0 .5H${WIDTH}M0 ${HEIGHT - 0.5}H${WIDTH}`} />
                {pointed && (
                  <rect
                    class="pointed"
                    x={x(pointed.from)}
                    y="0"
                    height={HEIGHT}
                    width={x(pointed.to) - x(pointed.from)}
                  />
                )}
                <path class={colour} d={path(bars, name, most, x)} />
              </svg>
              <p class="row small muted">
                <span>{time(new Date(pointed ? pointed.from : start).toISOString())}</span>
                <span class="space" />
                <span>
                  {pointed ? time(new Date(pointed.to).toISOString()) : t("plot.top", { value: written(most, unit) })}
                </span>
              </p>
            </figure>
          );
        })}
      </div>
      <details>
        <summary>{t("plot.table")}</summary>
        <PlotTable bars={bars} series={series} label={label} />
      </details>
    </>
  );
}

/** The latest first. */
function PlotTable({ bars, series, label }: Props) {
  const columns = series.map(({ name, title, unit }) => ({
    title,
    class: "numeric" as const,
    cell: (bar: Bar) => written(bar.values[name], unit),
  }));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls is reached by keys
    <div class="import-errors" tabIndex={0} role="region" aria-label={label}>
      <Table
        isStacked={false}
        rows={[...bars].reverse()}
        id={(bar) => String(bar.to)}
        columns={[{ title: t("plot.until"), cell: (bar) => time(new Date(bar.to).toISOString()) }, ...columns]}
      />
    </div>
  );
}

const DAY = 86_400_000; // milliseconds

/** How many fell into each of the last days, today at the end, above an axis with the first day and the most of a day.
 * A number next to the bars says the same to readers who listen. */
export function Spark({ counts }: { counts: number[] }) {
  const highest = Math.max(0, ...counts);
  const step = 100 / counts.length;
  const first = new Date(Date.now() - (counts.length - 1) * DAY);
  return (
    <>
      <svg class="spark" viewBox="0 0 100 24" preserveAspectRatio="none" aria-hidden="true">
        {counts.map((count, index) => {
          const height = count ? Math.max(2, (count / highest) * 24) : 0;
          return <rect key={index} x={index * step} y={24 - height} width={step * 0.8} height={height} />;
        })}
      </svg>
      <span class="axis" aria-hidden="true">
        <span>{shortDate(first)}</span>
        {highest > 0 && <span>{t("home.axis", { count: highest })}</span>}
        <span>{t("home.today")}</span>
      </span>
    </>
  );
}
