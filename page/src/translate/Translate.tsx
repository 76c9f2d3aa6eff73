// The Translate screen: text on one side, its translation on the other, and why it says what it says.
import type { JSX } from "preact";
import type { Screen } from "../shell/address";
import { t } from "../shell/texts";
import { Choices } from "./Choices";
import type { Bundle, Served } from "../served/client";
import { Documents } from "./Documents";
import { OutputLine } from "./Output";
import { Source } from "./Source";
import { begin, bundle, bundleName, bundles, needsToken, problem, take, token } from "../served/state";
import { MOST_LINES, best, cancel, continueFrom, follow, isWorking, lines, parameters, text, translate } from "./state";

function direction({ name, source, target }: Bundle): string {
  return source && target ? `${source} → ${target} (${name})` : name;
}

function Token(): JSX.Element | null {
  if (!needsToken) return null;
  return (
    <label>{t("translate.token")} <input type="password" autocomplete="off" value={token.value} onChange={(event) => void take(event.currentTarget.value)} /></label>
  );
}

/** In place of the screen, where there is no translator to ask. */
function NoTranslator(): JSX.Element {
  return (
    <main class="centre" id="centre" tabIndex={-1}>
      {needsToken ? <Token /> : <p>{t("translate.noBundle")}</p>}
      <p class="problem" role="alert">{problem.value}</p>
    </main>
  );
}

function Controls(): JSX.Element {
  const pick = (name: string): void => {
    bundleName.value = name;
    void translate();
  };
  const ask = (count: number): void => {
    best.value = count;
    void translate();
  };
  return (
    <section class="tools" aria-label={t("translate.controls")}>
      <label>{t("translate.direction")} <select value={bundle.value?.name ?? ""} onChange={(event) => pick(event.currentTarget.value)}>
        {bundles.value.map((one) => <option key={one.name} value={one.name}>{direction(one)}</option>)}
      </select></label>
      <label>{t("translate.best")} <select value={best.value} onChange={(event) => ask(Number(event.currentTarget.value))}>
        {[1, 2, 3, 5, 8].map((count) => <option key={count} value={count}>{count}</option>)}
      </select></label>
      <Token />
      <span class="gap" />
      <span role="status" class="muted">{isWorking.value ? t("translate.working") : ""}</span>
      <button type="button" data-tool="cancel" disabled={!isWorking.value} onClick={cancel}>{t("translate.cancel")}</button>
    </section>
  );
}

function Legend(): JSX.Element {
  return (
    <ul class="legend">
      <li><span class="word sure">{t("sure.sure")}</span> ≥ 0.7</li>
      <li><span class="word less">{t("sure.less")}</span> ≥ 0.3</li>
      <li><span class="word doubtful">{t("sure.doubtful")}</span> &lt; 0.3</li>
    </ul>
  );
}

function Prefixes(): JSX.Element {
  return (
    <>
      {lines.value.map((line, number) => line.value.prefix && (
        <p class="prefix" key={number}>
          {t("translate.begins", { n: number + 1 })} <bdi>{line.value.prefix}</bdi>
          {" "}<button type="button" class="quiet" onClick={() => void continueFrom(number, "")}>{t("translate.free")}</button>
        </p>
      ))}
    </>
  );
}

function TranslateView(): JSX.Element {
  if (bundles.value.length === 0) return <NoTranslator />;
  const left = text.value.split("\n").length - MOST_LINES;
  return (
    <>
      <Controls />
      <div class="translate">
        <main class="panes" id="centre" tabIndex={-1}>
          <Source />
          <section class="output" aria-label={t("translate.output")} aria-busy={isWorking.value}>
            {text.value.trim() === "" && <p class="muted">{t("translate.empty")}</p>}
            {lines.value.map((line, number) => <OutputLine key={number} line={line.value} number={number} />)}
            {left > 0 && <p class="flags">{t("translate.tooLong", { n: MOST_LINES })}</p>}
          </section>
          <Prefixes />
          <Legend />
          <Documents />
        </main>
        <Choices />
      </div>
    </>
  );
}

/** Takes what the server says of itself. */
export function translateScreen(given: Served): Screen {
  begin(given);
  return { name: "translate", label: "app.translate", View: TranslateView, title: () => t("translate.title"), parameters, follow };
}
