// The Step screen: steps, the step in view, and where its numbers come from.
import type { JSX } from "preact";
import { PRESETS, isOn, toggle } from "../engine/presets";
import { STEPS, type Step } from "../engine/steps";
import { numberOf, titleOf } from "./labels";
import { Panel } from "./Panel";
import { PrintedView } from "./PrintedView";
import { StepList, StepSelect } from "./StepList";
import type { Screen } from "../shell/address";
import { Moves } from "../shell/Moves";
import type { WrittenContent } from "./content";
import { begin, content, engine, follow, move, parameters, place, predicting, revealed, step } from "./state";
import { Symbols } from "./Symbol";
import { language, said, t } from "../shell/texts";
import { Files } from "../files/Files";
import { tableCsv, tableSvg } from "../files/table";
import { Legend, OperandView, Pointed, ResultView, tableOf } from "./views";

function Tools(): JSX.Element {
  const predict = (): void => {
    predicting.value = !predicting.value;
    revealed.value = new Set();
  };
  return (
    <section class="tools" aria-label={t("tools.label")}>
      <span class="label">{t("tools.label")}</span>
      {PRESETS.map((preset) => (
        <button type="button" key={preset} data-preset={preset} aria-pressed={isOn(engine, preset)} onClick={() => toggle(engine, preset)}>
          <Symbols text={said(`preset.${preset}`)} />
        </button>
      ))}
      <span class="gap" />
      <button type="button" data-tool="undo" disabled={!engine.canUndo} onClick={() => engine.undo()}>{t("tools.undo")}</button>
      <button type="button" data-tool="reset" disabled={engine.edited.length === 0} onClick={() => engine.reset()}>{t("tools.reset")}</button>
      <button type="button" data-tool="predict" aria-pressed={predicting.value} onClick={predict}>{t("tools.predict")}</button>
    </section>
  );
}

const SIGNS: Partial<Record<Step["operation"], readonly string[]>> = {
  add: ["+"], masked: ["+"], multiply: ["×"], affine: ["×", "+"], scale: ["·"], concat: ["|"], lookup: ["["],
};

function Operands({ of }: { readonly of: Step }): JSX.Element {
  const signs = SIGNS[of.operation] ?? [];
  return (
    <div class="operands" role="group" aria-label={t("matrix.operands")}>
      {of.operands.map((operand, number) => (
        <div class="operand" key={`${of.name} ${number}`}>
          {number > 0 && signs[number - 1] && signs[number - 1] !== "[" && <span class="sign" aria-hidden="true">{signs[number - 1]}</span>}
          <OperandView operand={operand} place={number} />
        </div>
      ))}
    </div>
  );
}

function Centre(): JSX.Element {
  const of = step.value;
  return (
    <main class="centre" id="centre" tabIndex={-1}>
      <p class="where">{said(`part.${of.part}`)} · {said(`section.${of.section}`)}</p>
      <h2><span class="count">{numberOf(of)}</span> {titleOf(of)}</h2>
      <p class="why">{said(`why.${of.title}`)}</p>
      <p class="equation"><Symbols text={of.equation} /></p>
      <Operands of={of} />
      <Pointed />
      <div class="equals"><span class="sign" aria-hidden="true">=</span><ResultView of={of} /></div>
      <Legend of={of} />
      {!predicting.value && <Files name={of.name} svg={() => tableSvg(tableOf(of))} csv={() => tableCsv(tableOf(of))} />}
      <Moves place={place.value} count={STEPS.length} move={move} />
      <PrintedView of={of} />
      <About />
    </main>
  );
}

function About(): JSX.Element {
  return (
    <section class="about">
      <details>
        <summary>{t("app.about")}</summary>
        <ul>{content.assumptions.map((one, number) => <li key={number}>{one[language.value]}</li>)}</ul>
      </details>
      <p>{t("app.keys")}</p>
    </section>
  );
}

function StepView(): JSX.Element {
  return (
    <>
      <Tools />
      <div class="columns">
        <StepList />
        <StepSelect />
        <Centre />
        <Panel />
      </div>
    </>
  );
}

/** Takes the content of the page. */
export function stepScreen(written: WrittenContent): Screen {
  begin(written);
  return {
    name: "step", label: "app.step", View: StepView, title: () => content.title[language.value],
    parameters, follow, entry: () => step.value.name,
  };
}
