// All steps of a trace, by the part of the model that makes them; on a narrow screen a select instead.
import type { JSX } from "preact";
import { language, t } from "../shell/texts";
import { grouped, type WrittenTrace } from "./data";
import { go, step } from "./state";

/** "encoder.layers.0" as a heading. */
function heading(group: string): string {
  const [side = "", , layer] = group.split(".");
  const name = side === "encoder" || side === "decoder" ? t(`part.${side}`) : side;
  return layer === undefined ? name : `${name}, ${t("attention.layer")} ${Number(layer) + 1}`;
}

export function Steps({ of }: { readonly of: WrittenTrace }): JSX.Element {
  const groups = grouped(of.steps);
  const number = new Map(of.steps.map(({ name }, place) => [name, place + 1]));
  return (
    <>
      <nav class="steps" aria-label={t("nav.steps")}>
        {groups.map(([group, steps], place) => (
          <details key={place} open={groups.length < 8 || steps.some(({ name }) => name === step.value?.name)}>
            <summary>{heading(group) || t("trace.model")}</summary>
            <ol>
              {steps.map((one) => (
                <li key={one.name}>
                  <button type="button" class="step" data-step={one.name} aria-current={one === step.value ? "step" : undefined} title={one.name} onClick={() => go(one.name)}>
                    <span class="count">{number.get(one.name)}</span>
                    <span>{one.title[language.value]}</span>
                  </button>
                </li>
              ))}
            </ol>
          </details>
        ))}
      </nav>
      <nav class="step-select" aria-label={t("nav.choose")}>
      <label>
        <span>{t("nav.choose")}</span>
        <select value={step.value?.name} onChange={(event) => go(event.currentTarget.value)}>
          {groups.map(([group, steps], place) => (
            <optgroup key={place} label={heading(group) || t("trace.model")}>
              {steps.map((one) => <option key={one.name} value={one.name}>{number.get(one.name)} {one.title[language.value]}</option>)}
            </optgroup>
          ))}
        </select>
      </label>
      </nav>
    </>
  );
}
