// An operand and the result as grids: what lights up, what is masked, changed or hidden, and what a key does there.
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { at, type Matrix } from "../engine/matrix";
import { isMasked, origin } from "../engine/engine";
import { STEP, type Operand, type Step } from "../engine/steps";
import { Grid, type Look } from "./Grid";
import type { Table } from "../files/table";
import { cellName, cellText, hasChanged, isChanged, isWhole, numberOf, operandNames, stepNames, titleOf } from "./labels";
import { decimal } from "../text/numbers";
import { cell, choose, content, engine, focusWanted, go, isHidden, message, original, pointed, predicting, step, type Cell } from "./state";
import { Symbols } from "./Symbol";
import { t } from "../shell/texts";

const FULL = 42; // per cent of the colour behind the largest value: the number on it stays readable in both themes

function isShare(ref: string): boolean {
  return STEP.get(ref)?.operation === "softmax";
}

/** Weights on a scale from 0 to 1; signed values blue or orange, on a scale symmetric about 0. */
export function shade(ref: string, value: number, largest: number): string | undefined {
  if (!Number.isFinite(value) || value === 0 || engine.isGiven(ref) || ref.endsWith("prediction")) return undefined;
  const share = isShare(ref) ? value : Math.abs(value) / largest;
  const colour = value < 0 ? "--orange" : "--blue";
  return `color-mix(in srgb, var(${colour}) ${(FULL * share * (isShare(ref) ? 1 : 0.6)).toFixed(1)}%, transparent)`;
}

export function largest(values: Matrix): number {
  return Math.max(...values.flat().filter(Number.isFinite).map(Math.abs), 1e-12);
}

function looked(ref: string, row: number, column: number, top: number): Look {
  const value = at(engine.value(ref), row, column);
  const changed = isChanged(ref, row, column);
  const before = original.value(ref)[row]?.[column] ?? NaN;
  return {
    text: cellText(ref, row, column),
    masked: isMasked(engine, ref, row, column),
    changed,
    title: changed ? t("matrix.before", { before: decimal(before), now: decimal(value) }) : undefined,
    background: isMasked(engine, ref, row, column) ? undefined : shade(ref, value, top),
  };
}

/** Takes a typed number into a given matrix; false, with a message, where it cannot be one. */
function typed(ref: string, row: number, column: number, text: string): boolean {
  const plain = text.trim().replace("−", "-").replace(",", ".");
  const value = Number(plain);
  const last = content.vocabulary.length - 1;
  if (isWhole(ref) && !(Number.isInteger(value) && value >= 0 && value <= last && plain !== "")) {
    message.value = t("edit.notToken", { last });
    return false;
  }
  if (plain === "" || !Number.isFinite(value) || Math.abs(value) > 1e6) {
    message.value = t("edit.notNumber");
    return false;
  }
  message.value = "";
  // What is shown has four decimals: leaving it as it is must not round the value.
  if (text !== cellText(ref, row, column).replace("−", "-")) engine.edit(ref, row, column, value);
  return true;
}

function source(operand: Operand): string {
  const made = STEP.get(operand.ref);
  return made ? numberOf(made) : t("matrix.given");
}

export function OperandView({ operand, place }: { readonly operand: Operand; readonly place: number }): JSX.Element {
  const active = useSignal<Cell>({ row: 0, column: 0 });
  const values = engine.operands(step.value)[place] ?? [];
  const [rows, columns] = operandNames(operand, values);
  const lit = new Set(
    engine.sources(step.value, cell.value.row, cell.value.column)
      .filter((one) => one.operand === place)
      .map((one) => `${one.row},${one.column}`),
  );
  const top = largest(values);
  const given = engine.isGiven(operand.ref);
  const switches = operand.ref === "mask.bits" || operand.ref === "positions.on";
  const look = (row: number, column: number): Look => ({
    ...looked(operand.ref, ...origin(operand, row, column), top), lit: lit.has(`${row},${column}`),
  });
  const point = (row: number, column: number): void => {
    active.value = { row, column };
    pointed.value = { operand: place, row, column };
  };
  const enter = (row: number, column: number): void => {
    const [from, across] = origin(operand, row, column);
    if (switches) engine.edit(operand.ref, from, across, at(engine.value(operand.ref), from, across) === 0 ? 1 : 0);
    else if (!given) go(operand.ref, { row: from, column: across }, true);
  };
  const label = cellName(operand.label, rows, columns, active.value.row, active.value.column);
  const edits = given
    ? { onEdit: (row: number, column: number, text: string) => typed(operand.ref, ...origin(operand, row, column), text), editLabel: () => t("matrix.edit", { cell: label }), switches }
    : {};
  return (
    <figure class={`matrix role-${operand.role}`}>
      <figcaption>
        <Symbols text={operand.label} /> <span class="origin">{source(operand)}</span>
      </figcaption>
      <div class="scroll">
        <Grid key={operand.ref} name={cellName(operand.label, [], [], 0, 0)} kind={given ? "given" : "made"} rows={rows} columns={columns}
          active={active.value} look={look} onActive={point} onEnter={enter} {...edits} />
      </div>
    </figure>
  );
}

/** The result of a step as a table of files. */
export function tableOf(of: Step): Table {
  const [rows, columns] = stepNames(of);
  return {
    title: `${numberOf(of)} ${titleOf(of)}`, rows, columns, values: engine.value(of.name), areShares: isShare(of.name),
    text: (row, column) => cellText(of.name, row, column),
  };
}

export function ResultView({ of }: { readonly of: Step }): JSX.Element {
  const values = engine.value(of.name);
  const [rows, columns] = stepNames(of);
  const top = largest(values);
  const look = (row: number, column: number): Look => {
    const chosen = cell.value.row === row && cell.value.column === column;
    if (isHidden(row, column)) return { text: "?", hidden: true, chosen };
    return { ...looked(of.name, row, column, top), chosen };
  };
  const toSources = (): void => {
    const first = document.querySelector<HTMLElement>(".operands td.lit");
    first?.focus();
  };
  return (
    <figure class={`matrix result role-${of.role}`} data-step={of.name}>
      <figcaption><Symbols text={of.label} /> {predicting.value && <span class="origin">{t("matrix.hidden")}</span>}</figcaption>
      <div class="scroll">
        <Grid name={`${t("matrix.result")} ${cellName(of.label, [], [], 0, 0)}`} kind="made" rows={rows} columns={columns} active={cell.value}
          look={look} onActive={choose} onEnter={toSources} focusWish={focusWanted.value} />
      </div>
    </figure>
  );
}

/** What is said of the cell that was pointed at, and the way to the step that made it. */
export function Pointed(): JSX.Element {
  const at_ = pointed.value;
  const operand = at_ && step.value.operands[at_.operand];
  if (message.value) return <p class="pointed wrong" role="alert">{message.value}</p>;
  if (!at_ || !operand) {
    const editable = step.value.operands.some(({ ref }) => engine.isGiven(ref));
    return <p class="pointed" aria-live="polite">{editable ? t("matrix.editHint") : "\u00a0"}</p>;
  }
  const [rows, columns] = operandNames(operand, engine.operands(step.value)[at_.operand] ?? []);
  const [row, column] = origin(operand, at_.row, at_.column);
  const gaps = { cell: cellName(operand.label, rows, columns, at_.row, at_.column), value: cellText(operand.ref, row, column) };
  const made = STEP.get(operand.ref);
  const switches = operand.ref === "mask.bits" || operand.ref === "positions.on";
  return (
    <p class="pointed" aria-live="polite">
      {made ? t("matrix.fromStep", { ...gaps, step: numberOf(made) }) : t(switches ? "matrix.toggleHint" : "matrix.fromGiven", gaps)}
      {made && <button type="button" class="link" onClick={() => go(made.name, { row, column }, true)}>→ {numberOf(made)}</button>}
    </p>
  );
}

export function Legend({ of }: { readonly of: Step }): JSX.Element {
  const masked = of.operation === "softmax" || of.operation === "mask" || of.operation === "masked";
  const scale = isShare(of.name) ? "legend.weights" : "legend.signed";
  return (
    <ul class="legend">
      {!of.name.endsWith("prediction") && of.operation !== "mask" && (
        <li><span class={isShare(of.name) ? "scale weights" : "scale signed"} aria-hidden="true"><b /><b /><b /><b /><b /></span>{t(scale)}</li>
      )}
      <li><span class="swatch lit" aria-hidden="true" />{t("legend.source")}</li>
      {masked && <li><span class="swatch masked" aria-hidden="true" />{t("legend.masked")}</li>}
      {hasChanged(of.name) && <li><span class="swatch changed" aria-hidden="true" />{t("legend.changed")}</li>}
    </ul>
  );
}

