// All steps by part and section; on a narrow screen a select instead.
import type { JSX } from "preact";
import { STEPS, type Part, type Step } from "../engine/steps";
import { SECTIONS, hasChanged, numberOf, titleOf } from "./labels";
import { cell, go, step } from "./state";
import { said, t } from "../shell/texts";

const PARTS: readonly Part[] = ["encoder", "decoder", "output"];

function sections(part: Part): (readonly [string, readonly Step[]])[] {
  return SECTIONS.map((section) => [section, STEPS.filter((one) => one.part === part && one.section === section)] as const)
    .filter(([, steps]) => steps.length > 0);
}

function StepLine({ one }: { readonly one: Step }): JSX.Element {
  const current = one.name === step.value.name;
  const changed = hasChanged(one.name);
  return (
    <li>
      <button type="button" class={changed ? "step changed" : "step"} data-step={one.name} aria-current={current ? "step" : undefined}
        onClick={() => go(one.name, cell.value)}>
        <span class="count">{numberOf(one)}</span>
        <span>{titleOf(one)}{changed && <span class="visually-hidden"> ({t("nav.changed")})</span>}</span>
      </button>
    </li>
  );
}

export function StepList(): JSX.Element {
  return (
    <nav class="steps" aria-label={t("nav.steps")}>
      {PARTS.map((part) => (
        <section key={part}>
          <h2>{said(`part.${part}`)}</h2>
          {sections(part).map(([section, steps]) => (
            <details key={section} open={steps.some(({ name }) => name === step.value.name)}>
              <summary><span class="count">{SECTIONS.indexOf(section) + 1}</span> {said(`section.${section}`)}{steps.some(({ name }) => hasChanged(name)) && <span class="dot" title={t("nav.changed")} />}</summary>
              <ol>{steps.map((one) => <StepLine key={one.name} one={one} />)}</ol>
            </details>
          ))}
        </section>
      ))}
    </nav>
  );
}

export function StepSelect(): JSX.Element {
  return (
    <label class="step-select">
      <span>{t("nav.choose")}</span>
      <select value={step.value.name} onChange={(event) => go(event.currentTarget.value, cell.value)}>
        {PARTS.flatMap((part) =>
          sections(part).map(([section, steps]) => (
            <optgroup key={section} label={`${said(`part.${part}`)} · ${said(`section.${section}`)}`}>
              {steps.map((one) => <option key={one.name} value={one.name}>{numberOf(one)} {titleOf(one)}</option>)}
            </optgroup>
          )),
        )}
      </select>
    </label>
  );
}
