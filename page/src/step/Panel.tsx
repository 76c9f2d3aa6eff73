// "Where this number comes from": the chosen cell's formula with numbers in place, whether Python agrees, and where it goes.
import { useSignal } from "@preact/signals";
import { Fragment, type JSX } from "preact";
import { useEffect } from "preact/hooks";
import { fromPython } from "./content";
import { at } from "../engine/matrix";
import { isMasked, origin, uses } from "../engine/engine";
import { formula, type Line, type Term } from "../engine/formula";
import { STEP, type Step } from "../engine/steps";
import { cellName, full, hasChanged, isChanged, numberOf, operandNames, short, stepNames, titleOf, word } from "./labels";
import { decimal } from "../text/numbers";
import { cell, content, engine, go, isHidden, original, reveal, step } from "./state";
import { Symbols } from "./Symbol";
import { said, t } from "../shell/texts";

function Number_({ term, of }: { readonly term: Exclude<Term, string>; readonly of: Step }): JSX.Element {
  const { place, value } = term;
  const operand = place && of.operands[place.operand];
  if (!place || !operand) return <span class="number">{decimal(value)}</span>;
  const [row, column] = origin(operand, place.row, place.column);
  const [rows, columns] = operandNames(operand, engine.operands(of)[place.operand] ?? []);
  const text = isMasked(engine, operand.ref, row, column) ? t("matrix.masked") : engine.isGiven(operand.ref) ? short(value) : decimal(value);
  const name = cellName(operand.label, rows, columns, place.row, place.column);
  if (!STEP.has(operand.ref)) return <span class={`number role-${operand.role}`} title={name}>{text}</span>;
  return (
    <button type="button" class={`number source role-${operand.role}`} title={name} aria-label={`${name} ${text}`}
      onClick={() => go(operand.ref, { row, column }, true)}>{text}</button>
  );
}

function FormulaLine({ line, of }: { readonly line: Line; readonly of: Step }): JSX.Element {
  return (
    <li>
      {line.note && <span class="note">{said(line.note)}</span>}
      <span class="terms">
        {line.terms.map((term, place) => <Fragment key={place}>{typeof term === "string" ? term : <Number_ term={term} of={of} />}</Fragment>)}
      </span>
    </li>
  );
}

function scientific(value: number): string {
  return value.toExponential(1).replace("-", "−");
}

/** A comparison made here and now, of this step's values with those that Python wrote into the file. */
function agreement(name: string): string {
  const difference = fromPython(content, name, original.value(name));
  if (difference === undefined) return t("check.none");
  if (difference === 0) return t("check.exact");
  return t(difference <= 1e-9 ? "check.equals" : "check.differs", { difference: scientific(difference) });
}

function Check({ of }: { readonly of: Step }): JSX.Element {
  const difference = fromPython(content, of.name, original.value(of.name)) ?? Infinity;
  const verdict = agreement(of.name);
  return (
    <p class={difference <= 1e-9 ? "check right" : "check wrong"} data-difference={difference}>
      <span aria-hidden="true">{difference <= 1e-9 ? "✓" : "✗"}</span> {hasChanged(of.name) ? t("check.edited", { verdict }) : verdict}
    </p>
  );
}

function Predict({ row, column, name }: { readonly row: number; readonly column: number; readonly name: string }): JSX.Element {
  const text = useSignal("");
  const answer = useSignal("");
  useEffect(() => {
    text.value = answer.value = "";
  }, [step.value.name, row, column]);
  const value = at(engine.value(step.value.name), row, column);
  const check = (event: Event): void => {
    event.preventDefault();
    const guess = Number(text.value.trim().replace("−", "-").replace(",", "."));
    if (text.value.trim() === "" || Number.isNaN(guess)) answer.value = t("predict.notNumber");
    // 0.01 allows for a second decimal that was cut and not rounded.
    else if (guess === value || Math.abs(guess - value) <= 0.01) {
      answer.value = t("predict.right", { value: decimal(value) });
      reveal(row, column);
    } else answer.value = t("predict.wrong", { value: text.value.trim(), direction: t(guess < value ? "predict.low" : "predict.high") });
  };
  return (
    <form class="predict" onSubmit={check}>
      {isHidden(row, column) && <p>{t("predict.hint")}</p>}
      {isHidden(row, column) && (
        <p>
          <label>{t("predict.label", { cell: name })} <input class="guess" inputMode="decimal" value={text.value} onInput={(event) => (text.value = event.currentTarget.value)} /></label>{" "}
          <button type="submit">{t("predict.check")}</button>{" "}
          <button type="button" class="quiet" onClick={() => reveal(row, column)}>{t("predict.show")}</button>
        </p>
      )}
      <p role="status" class="answer">{answer.value}</p>
    </form>
  );
}

function Goes({ of }: { readonly of: Step }): JSX.Element {
  const { row, column } = cell.value;
  const found = uses(engine, of.name, row, column);
  return (
    <section class="goes">
      <h3>{t("panel.goes")}</h3>
      {found.length === 0 && <p class="muted">{t("panel.goesNowhere")}</p>}
      <ul>
        {found.map(({ step: next, cells }) => (
          <li key={next.name}>
            <button type="button" class="link" onClick={() => go(next.name, { row: cells[0]?.[0] ?? 0, column: cells[0]?.[1] ?? 0 }, true)}>
              <span class="count">{numberOf(next)}</span> {titleOf(next)}
            </button>{" "}
            <span class="muted">{cells.length === 1 ? t("panel.cell") : t("panel.cells", { n: cells.length })}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function valueText(of: Step, row: number, column: number): string {
  const value = at(engine.value(of.name), row, column);
  if (isMasked(engine, of.name, row, column)) return t("matrix.masked");
  return of.operation === "argmax" ? `${value} · ${word(value)}` : full(value);
}

export function Panel(): JSX.Element {
  const of = step.value;
  const { row, column } = cell.value;
  const [rows, columns] = stepNames(of);
  const value = at(engine.value(of.name), row, column);
  const hidden = isHidden(row, column);
  const name = cellName(of.label, rows, columns, row, column);
  const place = [rows[row], columns[column]].filter(Boolean).join(", ");
  return (
    <aside class="panel" aria-label={t("panel.title")}>
      <h2>{t("panel.title")}</h2>
      <p class="cell"><Symbols text={of.label} />{place && <span class="place">[{place}]</span>}</p>
      <p class="value" aria-live="polite"><span class="visually-hidden">{name} </span>{hidden ? "?" : valueText(of, row, column)}</p>
      {!hidden && isChanged(of.name, row, column) && (
        <p class="muted">{t("matrix.before", { before: decimal(original.value(of.name)[row]?.[column] ?? NaN), now: decimal(value) })}</p>
      )}
      <Predict row={row} column={column} name={name} />
      {!hidden && (
        <ol class="lines">
          {formula(of, engine.operands(of), row, column, value).map((line, number) => <FormulaLine key={number} line={line} of={of} />)}
        </ol>
      )}
      <Check of={of} />
      <Goes of={of} />
    </aside>
  );
}

