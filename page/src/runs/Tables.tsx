// The shown runs in numbers and words: what they reached, in which settings they differ, what they write.
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { language, said, t } from "../shell/texts";
import { Sample } from "./Chart";
import { differences, secondsOf, shownFigure, type Figure, type Run, type Validation } from "./data";
import { look, now, shown } from "./state";

const [MINUTE, HOUR] = [60, 3600];
/** After so many updates samples are shown; null: the last ones. */
const sampleStep = signal<number | null>(null);

/** What a figure is called: a score by what these runs count, such as accuracy. */
export function figureName(runs: readonly Run[], figure: Figure): string {
  const counted = [...new Set(runs.map(({ score_name: name }) => name).filter(Boolean))];
  return figure === "score" && counted.length ? counted.join(", ") : said(`runs.figure.${figure}`);
}

function figureText(figure: Figure, value: number | null): string {
  const found = shownFigure(figure, value);
  return found === null ? "–" : found.toFixed(figure === "loss" ? 4 : 2);
}

function ago(seconds: number): string {
  const [unit, size] = seconds < 2 * MINUTE ? (["seconds", 1] as const) : seconds < 2 * HOUR ? (["minutes", MINUTE] as const) : (["hours", HOUR] as const);
  return said(`runs.ago.${unit}`, { count: Math.max(0, Math.round(seconds / size)) });
}

function duration(seconds: number): string {
  const whole = Math.round(seconds);
  const [hours, minutes] = [Math.floor(whole / HOUR), Math.floor((whole % HOUR) / MINUTE)];
  const two = (one: number): string => String(one).padStart(2, "0");
  return hours ? `${hours}:${two(minutes)}:${two(whole % MINUTE)}` : `${minutes}:${two(whole % MINUTE)}`;
}

function stateText(run: Run, isLive: boolean): string {
  if (run.is_finished) return t("runs.finished");
  if (run.updated === null) return t("runs.notBegun");
  if (isLive) return t("runs.lastLine", { ago: ago(now.value - run.updated) });
  const time = new Date(1000 * run.updated).toLocaleString(language.value === "zh" ? "zh-CN" : "en-GB", { dateStyle: "medium", timeStyle: "short" });
  return t("runs.lastWritten", { time });
}

function Reached({ figure, at }: { readonly figure: Figure; readonly at: Validation | undefined }): JSX.Element {
  if (!at) return <td>–</td>;
  return <td>{figureText(figure, at.figures[figure])} <span class="muted">{t("runs.atStep", { step: at.step.toLocaleString("en") })}</span></td>;
}

export function Summary({ isLive }: { readonly isLive: boolean }): JSX.Element {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={t("runs.summary")}>
      <table class="facts runs-table" data-table="summary">
        <caption>{t("runs.summary")}</caption>
        <thead><tr>{(["runs.run", "runs.state", "runs.made", "runs.time", "runs.figure", "runs.best", "runs.last"] as const).map((key) => <th scope="col" key={key}>{t(key)}</th>)}</tr></thead>
        <tbody>
          {shown.value.map((run) => (
            <tr key={run.name} data-run={run.name}>
              <th scope="row"><Sample look={look(run.name)} /> {run.name}</th>
              <td>{stateText(run, isLive)}</td>
              <td>{run.made.toLocaleString("en")}{run.wanted !== null && run.wanted !== run.made && ` / ${run.wanted.toLocaleString("en")}`}</td>
              <td>{duration(secondsOf(run))}</td>
              <td>{figureName([run], run.metric)}</td>
              <Reached figure={run.metric} at={run.best === null ? undefined : run.validations[run.best]} />
              <Reached figure={run.metric} at={run.validations.at(-1)} />
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function valueText(value: unknown): string {
  return value === null ? "–" : typeof value === "string" ? value : JSON.stringify(value);
}

export function Differences(): JSX.Element | null {
  const runs = shown.value;
  const found = differences(runs);
  if (runs.length < 2) return null;
  if (found.length === 0) return <p class="muted">{t("runs.same")}</p>;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={t("runs.differences")}>
      <table class="facts runs-table" data-table="differences">
        <caption>{t("runs.differences")}</caption>
        <thead><tr><th scope="col">{t("runs.setting")}</th>{runs.map(({ name }) => <th scope="col" key={name}>{name}</th>)}</tr></thead>
        <tbody>{found.map(({ key, values }) => <tr key={key}><th scope="row"><code>{key}</code></th>{values.map((one, place) => <td key={place}>{valueText(one)}</td>)}</tr>)}</tbody>
      </table>
    </div>
  );
}

/** What each run wrote at its last validation that is not later than the chosen one. */
export function Samples(): JSX.Element | null {
  const sampled = shown.value.map((run) => ({ run, all: run.validations.filter(({ sample }) => sample) })).filter(({ all }) => all.length > 0);
  if (sampled.length === 0) return null;
  const steps = [...new Set(sampled.flatMap(({ all }) => all.map(({ step }) => step)))].sort((one, other) => one - other);
  const at = sampleStep.value ?? steps.at(-1) ?? 0;
  return (
    <section class="samples" aria-label={t("runs.samples")}>
      <h2>{t("runs.samples")}</h2>
      <label>{t("runs.sampleAt")}{" "}
        <select value={String(at)} data-tool="sample" onChange={(event) => (sampleStep.value = Number(event.currentTarget.value))}>{steps.map((step) => <option key={step} value={String(step)}>{step.toLocaleString("en")}</option>)}</select>
      </label>
      {sampled.map(({ run, all }) => {
        const found = all.filter(({ step }) => step <= at).at(-1);
        if (!found?.sample) return null;
        const [source, reference, output] = found.sample;
        return (
          <dl key={run.name} class="trace-facts" data-sample={run.name}>
            <div><dt><Sample look={look(run.name)} /></dt><dd>{run.name} <span class="muted">{t("runs.atStep", { step: found.step.toLocaleString("en") })}</span></dd></div>
            <div><dt>{t("runs.source")}</dt><dd dir="auto">{source}</dd></div>
            <div><dt>{t("runs.reference")}</dt><dd dir="auto">{reference}</dd></div>
            <div><dt>{t("runs.output")}</dt><dd dir="auto">{output}</dd></div>
          </dl>
        );
      })}
    </section>
  );
}

/** The validations in numbers, which is also the chart for those who do not see it. */
export function Validations({ figure }: { readonly figure: Figure }): JSX.Element {
  const runs = shown.value;
  const steps = [...new Set(runs.flatMap(({ validations }) => validations.map(({ step }) => step)))].sort((one, other) => one - other);
  return (
    <details>
      <summary>{t("runs.table")}</summary>
      <div class="scroll" tabIndex={0} role="region" aria-label={t("runs.table")}>
        <table class="facts runs-table" data-table="validations">
          <thead><tr><th scope="col">{t("runs.step")}</th>{runs.map((run) => <th scope="col" key={run.name}>{run.name}</th>)}</tr></thead>
          <tbody>{steps.map((step) => <tr key={step}><th scope="row">{step.toLocaleString("en")}</th>{runs.map((run) => <td key={run.name}>{figureText(figure, run.validations.find((one) => one.step === step)?.figures[figure] ?? null)}</td>)}</tr>)}</tbody>
        </table>
      </div>
    </details>
  );
}
