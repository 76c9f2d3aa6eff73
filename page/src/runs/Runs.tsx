// The screen Runs: trainings beside each other, read again while they go on.
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { Screen } from "../shell/address";
import { said, t } from "../shell/texts";
import { Chart, Sample } from "./Chart";
import { Differences, Samples, Summary, Validations, figureName } from "./Tables";
import type { Styled } from "./plot";
import { bySeed, logged, meanOf, smoothed, validated, type Column, type Recorded, type Run } from "./data";
import { SMOOTHINGS, across, figure, figures, filter, follow, isBySeed, isLogarithmic, look, parameters, problem, refresh, runs, shown, smoothing, tick, wantedFigure } from "./state";

const SECONDS = 5; // between two readings
const LOGGED = ["likelihood", "learning_rate", "gradient_norm", "tokens_per_second"] as const satisfies readonly Column[];
const SMOOTHED: readonly Column[] = ["likelihood", "gradient_norm", "tokens_per_second"];
const MOST_NAMED = 20; // damaged lines

/** Whether a run has what the reader looks for in its name or among its settings, such as heads=4. */
function matches(run: Run, wanted: string): boolean {
  const all = [run.name, ...Object.entries(run.settings).map(([key, value]) => `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`)];
  return all.some((one) => one.toLowerCase().includes(wanted.trim().toLowerCase()));
}

function List(): JSX.Element {
  const names = new Set(shown.value.map(({ name }) => name));
  return (
    <section class="runs-list" aria-label={t("runs.list")}>
      {runs.value.length > 1 && <label>{t("runs.filter")} <input type="search" value={filter.value} onInput={(event) => (filter.value = event.currentTarget.value)} /></label>}
      <ul>
        {runs.value.filter((run) => matches(run, filter.value)).map(({ name }) => (
          <li key={name}><label><input type="checkbox" checked={names.has(name)} data-tick={name} onChange={() => tick(name)} /> <Sample look={look(name)} /> <span>{name}</span></label></li>
        ))}
      </ul>
    </section>
  );
}

function Tools(): JSX.Element {
  return (
    <section class="tools" aria-label={t("runs.controls")}>
      <label>{t("runs.across")}{" "}
        <select value={across.value} data-tool="across" onChange={(event) => (across.value = event.currentTarget.value === "seconds" ? "seconds" : "step")}>
          <option value="step">{t("runs.step")}</option><option value="seconds">{t("runs.seconds")}</option>
        </select>
      </label>
      {figures.value.length > 1 && (
        <label>{t("runs.figure")}{" "}
          <select value={figure.value} data-tool="figure" onChange={(event) => (wantedFigure.value = event.currentTarget.value)}>
            {figures.value.map((one) => <option key={one} value={one}>{figureName(shown.value, one)}</option>)}
          </select>
        </label>
      )}
      <label>{t("runs.smoothing")}{" "}
        <select value={String(smoothing.value)} data-tool="smoothing" onChange={(event) => (smoothing.value = Number(event.currentTarget.value))}>
          {SMOOTHINGS.map((one) => <option key={one} value={String(one)}>{said(`runs.smoothing.${one}`)}</option>)}
        </select>
      </label>
      <label><input type="checkbox" checked={isLogarithmic.value} data-tool="log" onChange={() => (isLogarithmic.value = !isLogarithmic.value)} /> {t("runs.log")}</label>
      {bySeed(runs.value).some((group) => group.length > 1) && <label><input type="checkbox" checked={isBySeed.value} data-tool="seeds" onChange={() => (isBySeed.value = !isBySeed.value)} /> {t("runs.seeds")}</label>}
    </section>
  );
}

/** The shown runs as curves: each by itself, or those that differ in their seed alone as their mean. */
function curvesOf(pointsOf: (run: Run) => readonly Recorded[], smooths: boolean): Styled[] {
  const groups = isBySeed.value ? bySeed(shown.value) : shown.value.map((run) => [run]);
  return groups.map((group) => {
    const [first] = group;
    const name = first?.name ?? "";
    const [isMean, isSmooth] = [group.length > 1, smooths && smoothing.value > 0];
    const all = group.map(pointsOf);
    const curve = meanOf(isMean ? t("runs.seedsName", { name, count: group.length }) : name, isSmooth ? all.map((points) => smoothed(points, smoothing.value)) : all);
    return { ...curve, look: look(name), ...(isSmooth && !isMean && { raw: meanOf(name, all).points }) };
  });
}

function Charts(): JSX.Element {
  const below = t(across.value === "step" ? "runs.step" : "runs.seconds");
  const name = figureName(shown.value, figure.value);
  return (
    <div class="charts">
      <Chart name={`validation-${figure.value}`} titles={{ title: `${t("runs.figure")}: ${name}`, across: below, up: name }} curves={curvesOf((run) => validated(run, figure.value, across.value), false)} isLogarithmic={isLogarithmic.value} />
      {LOGGED.map((column) => {
        const title = said(`runs.curve.${column}`);
        return <Chart key={column} name={column.replaceAll("_", "-")} titles={{ title, across: below, up: title }} curves={curvesOf((run) => logged(run, column, across.value), SMOOTHED.includes(column))} isLogarithmic={isLogarithmic.value} />;
      })}
    </div>
  );
}

function Notes(): JSX.Element {
  const thinned = shown.value.filter(({ every }) => every > 1).map(({ name, every }) => t("runs.eachLine", { name, every }));
  return (
    <>
      {thinned.length > 0 && <p class="muted">{t("runs.thinned", { names: thinned.join("; ") })}</p>}
      {shown.value.filter(({ damaged }) => damaged.length).map(({ name, damaged }) => <p key={name} class="problem">{t("runs.damaged", { name, lines: damaged.slice(0, MOST_NAMED).join(", ") })}</p>)}
    </>
  );
}

function RunsView(isLive: boolean): JSX.Element {
  useEffect(() => {
    if (!isLive) return undefined;
    void refresh();
    const again = setInterval(() => {
      if (!document.hidden) void refresh();
    }, 1000 * SECONDS);
    return () => clearInterval(again);
  }, []);
  return (
    <>
      <Tools />
      <div class="runs">
        <List />
        <main id="centre" tabIndex={-1}>
          {isLive && <p role="status" class={problem.value ? "problem" : "muted"}>{problem.value || (runs.value.length ? t("runs.live", { seconds: SECONDS }) : t("runs.reading"))}</p>}
          {runs.value.length > 0 && shown.value.length === 0 && <p>{t("runs.none")}</p>}
          {shown.value.length > 0 && (
            <>
              <Summary isLive={isLive} />
              <Charts />
              <Notes />
              <Validations figure={figure.value} />
              <Differences />
              <Samples />
            </>
          )}
        </main>
      </div>
    </>
  );
}

/** Shows the runs of the page; one without any asks its server for them. */
export function runsScreen(written: readonly Run[] | undefined): Screen {
  if (written) runs.value = written;
  return {
    name: "runs", label: "app.runs", View: () => RunsView(!written), title: () => t("runs.title"),
    parameters, follow, entry: () => parameters()["r"] ?? "",
  };
}
