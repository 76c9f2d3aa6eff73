// The Beam screen: the search of a translation as a tree, replayed step by step.
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { AskLine, ask, type Asking } from "../served/AskLine";
import { bundle } from "../served/state";
import type { Screen } from "../shell/address";
import { Files } from "../files/Files";
import { t } from "../shell/texts";
import { firstLine } from "../translate/state";
import type { SearchTree } from "./data";
import { csvOf, svgOf } from "./files";
import { best, follow, isWhole, last, parameters, replay, shown, step, take, tree, withDropped } from "./state";
import { Candidates, Hypotheses, Panel } from "./Tables";
import { Tree } from "./Tree";

const PACE = 700; // milliseconds a step
const WIDEST = 16;
const asking: Asking = { isWorking: signal(false), problem: signal("") };
const isPlaying = signal(false);
/** Hypotheses kept; 0: as many as the bundle says. */
const beam = signal(0);
/** What the tree in view was asked with. */
const askedBeam = signal(0);

function askFor(written: string): void {
  const asked = beam.value;
  const body = { bundle: bundle.value?.name ?? "", text: written, ...(beam.value > 0 && { beam: beam.value }) };
  void ask<SearchTree>(asking, "/v1/beam", body, (found) => {
    askedBeam.value = asked;
    take(found);
  });
}

function Ask(): JSX.Element {
  return (
    <AskLine asking={asking} first={tree.value?.source ?? firstLine()} button={t("beam.show")} onAsk={askFor}>
      <label>{t("beam.size")} <select value={beam.value} onChange={(event) => (beam.value = Number(event.currentTarget.value))}>
        <option value={0}>{t("beam.own")}</option>
        {Array.from({ length: WIDEST }, (_, one) => <option key={one} value={one + 1}>{one + 1}</option>)}
      </select></label>
    </AskLine>
  );
}

function Replay(): JSX.Element {
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  useEffect(() => {
    if (!isPlaying.value) return;
    const timer = setInterval(() => {
      replay(step.value + 1);
      if (step.value === last.value) isPlaying.value = false;
    }, PACE);
    return () => clearInterval(timer);
  }, [isPlaying.value]);
  const play = (): void => {
    if (step.value === last.value) replay(0);
    isPlaying.value = !isPlaying.value;
  };
  return (
    <section class="tools" aria-label={t("beam.replay")}>
      <button type="button" data-tool="back" disabled={step.value === 0} onClick={() => replay(step.value - 1)}>← {t("nav.back")}</button>
      <label class="slider">{t("beam.step", { n: step.value, all: last.value })}{" "}
        <input type="range" min={0} max={last.value} value={step.value} onInput={(event) => replay(Number(event.currentTarget.value))} />
      </label>
      <button type="button" data-tool="next" disabled={step.value === last.value} onClick={() => replay(step.value + 1)}>{t("nav.next")} →</button>
      {!still && <button type="button" data-tool="play" aria-pressed={isPlaying.value} onClick={play}>{t(isPlaying.value ? "beam.pause" : "beam.play")}</button>}
      <button type="button" data-tool="dropped" aria-pressed={withDropped.value} onClick={() => (withDropped.value = !withDropped.value)}>{t("beam.everything")}</button>
    </section>
  );
}

function Saved({ of }: { readonly of: SearchTree }): JSX.Element {
  const names = (): Parameters<typeof svgOf>[2] => ({
    title: `${of.source} → ${of.finished[0]?.text ?? ""}`, steps: t("beam.step", { n: step.value, all: last.value }),
    legend: { best: t("beam.best"), finished: t("beam.ended"), kept: t("beam.kept"), dropped: t("beam.dropped") },
  });
  return <Files name="search" svg={() => svgOf(shown.value, best.value, names())} csv={() => csvOf(of)} />;
}

function Legend(): JSX.Element {
  return (
    <ul class="legend beam-legend">
      {(["best", "finished", "kept", "dropped"] as const).map((name) => <li key={name}><span class={`line ${name}`} aria-hidden="true" />{t(name === "finished" ? "beam.ended" : `beam.${name}`)}</li>)}
      <li>{t("beam.numbers")}</li>
    </ul>
  );
}

function BeamView(isServed: boolean): JSX.Element {
  const of = tree.value;
  return (
    <>
      {of && <Replay />}
      <div class="beam">
        <main class="centre" id="centre" tabIndex={-1}>
          {isServed && <Ask />}
          {of ? (
            <>
              <p class="pair"><bdi>{of.source}</bdi> → <bdi>{isWhole.value ? (of.finished[0]?.text ?? "") : "…"}</bdi> <span class="muted">{t("beam.width", { beam: of.beam })}</span>
                {isServed && <> <a data-tool="attention" href={`#/attention?q=${encodeURIComponent(of.source)}`}>{t("choices.attention")}</a></>}</p>
              <Tree of={of} />
              <Legend />
              <Hypotheses of={of} />
              <Candidates of={of} />
              <Saved of={of} />
            </>
          ) : <p class="muted">{t("beam.empty")}</p>}
        </main>
        {of && <Panel of={of} />}
      </div>
    </>
  );
}

/** Takes the search in the page; without one, a sentence is asked of the server. */
export function beamScreen(content: SearchTree | undefined, isServed: boolean): Screen {
  if (content) take(content);
  const followAndAsk = (asked: URLSearchParams): void => {
    follow(asked);
    const written = asked.get("q");
    beam.value = Math.min(WIDEST, Math.max(0, Number.parseInt(asked.get("b") ?? "", 10) || 0));
    if (isServed && written?.trim() && (written !== tree.value?.source || beam.value !== askedBeam.value)) askFor(written);
  };
  return {
    name: "beam", label: "app.beam", View: () => BeamView(isServed), title: () => t("beam.title"),
    parameters: () => ({ ...parameters(), ...(isServed && tree.value && { q: tree.value.source }), ...(askedBeam.value > 0 && { b: String(askedBeam.value) }) }),
    follow: followAndAsk, entry: () => tree.value?.source ?? "",
  };
}
