// The Step screen of a trained model or a worked example that Python has calculated: every step with all its numbers.
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { AskLine, ask, type Asking } from "../served/AskLine";
import { bundle } from "../served/state";
import type { Screen } from "../shell/address";
import { Moves } from "../shell/Moves";
import { language, said, t } from "../shell/texts";
import { firstLine } from "../translate/state";
import { namesOf, summary, valueOf, type WrittenStep, type WrittenTrace } from "./data";
import { Files } from "../files/Files";
import { tableCsv, tableSvg } from "../files/table";
import { MatrixView, allOf, viewOf } from "./MatrixView";
import { numberText } from "./numbers";
import { Panel } from "./Panel";
import { Patches } from "./Patches";
import { follow, move, outer, parameters, place, step, take, trace, turn } from "./state";
import { Steps } from "./Steps";

const asking: Asking = { isWorking: signal(false), problem: signal("") };
const sentence = signal("");
/** The layer whose inner steps are asked for; -1: what each part of a layer gives, of all layers. */
const layer = signal(-1);

function askFor(written: string): void {
  const body = { bundle: bundle.value?.name ?? "", text: written, ...(layer.value >= 0 && { layer: layer.value }) };
  void ask<WrittenTrace>(asking, "/v1/explain", body, (found) => {
    take(found);
    sentence.value = written;
    if (layer.value < 0) layerCount.value = layersOf(found);
  });
}

function layersOf(of: WrittenTrace | null): number {
  return Math.max(0, ...(of?.steps ?? []).map(({ name }) => Number(/\.layers\.(\d+)/.exec(name)?.[1] ?? -1) + 1));
}
/** Of the model, as far as its steps were asked for; those of one layer do not tell how many there are. */
const layerCount = signal(0);

function Ask(): JSX.Element {
  const pick = (to: number): void => {
    layer.value = to;
    if (sentence.value) askFor(sentence.value);
  };
  return (
    <AskLine asking={asking} first={sentence.value || firstLine()} button={t("trace.show")} onAsk={askFor}>
      {trace.value && (
        <label>{t("trace.detail")} <select value={layer.value} onChange={(event) => pick(Number(event.currentTarget.value))}>
          <option value={-1}>{t("trace.overall")}</option>
          {Array.from({ length: Math.max(layerCount.value, layersOf(trace.value)) }, (_, number) => <option key={number} value={number}>{t("attention.layer")} {number + 1}</option>)}
        </select></label>
      )}
    </AskLine>
  );
}

function Outer({ of, within }: { readonly of: WrittenStep; readonly within: WrittenTrace }): JSX.Element | null {
  const axes = of.axes.slice(0, -2);
  if (axes.length === 0) return null;
  return (
    <p class="outer">
      {axes.map((axis, number) => (
        <label key={axis}>{axis} <select value={outer.value[number] ?? 0} onChange={(event) => turn(number, Number(event.currentTarget.value))}>
          {namesOf(within, of, number - of.axes.length).map((name, one) => <option key={one} value={one}>{name}</option>)}
        </select></label>
      ))}
    </p>
  );
}

function Facts({ of, matrix }: { readonly of: WrittenStep; readonly matrix: Float64Array }): JSX.Element {
  const found = summary(matrix);
  const shape = of.axes.map((axis, number) => `${axis} ${of.shape[number]}`).join(" × ");
  const all: readonly (readonly [string, string])[] = [
    [t("trace.shape"), shape || t("trace.number")],
    ...(found && matrix.length > 1 ? [[t("trace.numbers"), t("trace.summary", { least: numberText(found.least, of.isWhole), most: numberText(found.most, of.isWhole), mean: numberText(found.mean, false) })] as const] : []),
    [t("trace.source"), of.source], [t("trace.code"), of.code], [t("trace.weights"), of.parameters.join(", ")],
  ];
  return (
    <dl class="trace-facts">
      {all.map(([name, value]) => value && <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}
    </dl>
  );
}

function Documents({ of }: { readonly of: WrittenStep }): JSX.Element | null {
  if (of.printed.length + of.said.length === 0) return null;
  return (
    <section class="print">
      <h3>{t("printed.title")}</h3>
      {of.printed.map(({ document, value, verdict, reason }, number) => (
        <p key={number}>
          {t("printed.in", { document })}: <span class="figures">{value}</span>{" "}
          <span class={verdict === "wrong" ? "wrong" : "right"}>{verdict === "wrong" ? "✗" : "✓"} {said(`printed.${verdict}`)}</span>
          {reason[language.value] && <span class="muted"> {reason[language.value]}</span>}
        </p>
      ))}
      {of.said.map(({ document, sentence: claim, holds, found }, number) => (
        <p key={number}>
          {t("trace.said", { document })}: {claim[language.value]}{" "}
          <span class={holds ? "right" : "wrong"}>{holds ? "✓" : "✗"} {t(holds ? "trace.holds" : "trace.fails")}</span> <span class="muted">{found[language.value]}</span>
        </p>
      ))}
    </section>
  );
}

function Centre({ within, of, matrix }: { readonly within: WrittenTrace; readonly of: WrittenStep; readonly matrix: Float64Array }): JSX.Element {
  return (
    <main class="centre" id="centre" tabIndex={-1}>
      <p class="where name">{of.name}</p>
      <h2>{of.title[language.value]}</h2>
      {of.equation && <p class="equation"><code>{of.equation}</code></p>}
      <Patches trace={within} of={of} />
      <Outer of={of} within={within} />
      <MatrixView of={of} matrix={matrix} />
      <Files name={of.name} svg={() => tableSvg(viewOf(of, matrix))} csv={() => tableCsv(allOf(of, matrix))} />
      <Facts of={of} matrix={matrix} />
      <Moves place={place.value} count={within.steps.length} move={move} />
      <Documents of={of} />
      {within.assumptions.length > 0 && (
        <section class="about">
          <details>
            <summary>{t("app.about")}</summary>
            <ul>{within.assumptions.map((one, number) => <li key={number}>{one[language.value]}</li>)}</ul>
          </details>
        </section>
      )}
    </main>
  );
}

function TraceView(isServed: boolean): JSX.Element {
  const [within, of] = [trace.value, step.value];
  const matrix = of && valueOf(of).matrix(outer.value);
  return (
    <>
      {isServed && <section class="asking" aria-label={t("trace.title")}><Ask /></section>}
      {within && of && matrix ? (
        <div class="columns">
          <Steps of={within} />
          <Centre within={within} of={of} matrix={matrix} />
          <Panel of={of} matrix={matrix} />
        </div>
      ) : <main class="centre" id="centre" tabIndex={-1}><p class="muted">{t("trace.empty")}</p></main>}
    </>
  );
}

/** Takes the trace in the page; without one, a sentence is asked of the server. */
export function traceScreen(content: WrittenTrace | undefined, isServed: boolean): Screen {
  if (content) take(content);
  const followAndAsk = (asked: URLSearchParams): void => {
    follow(asked);
    const written = asked.get("q");
    if (asked.has("d")) layer.value = Number.parseInt(asked.get("d") ?? "", 10) - 1;
    if (isServed && written?.trim() && written !== sentence.value) askFor(written);
  };
  return {
    name: "step", label: "app.step", View: () => TraceView(isServed), title: () => trace.value?.title[language.value] ?? t("trace.title"),
    parameters: () => ({ ...parameters(), ...(layer.value >= 0 && { d: String(layer.value + 1) }), ...(sentence.value && { q: sentence.value }) }),
    follow: followAndAsk, entry: () => step.value?.name ?? "",
  };
}

