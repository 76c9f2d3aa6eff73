// Names of rows and columns, numbers as text, and the numbers of steps.
import { at, type Matrix } from "../engine/matrix";
import { isMasked } from "../engine/engine";
import { STEPS, type Axis, type Operand, type Step } from "../engine/steps";
import { content, engine, original } from "./state";
import { said, t } from "../shell/texts";
import { DECIMALS, decimal } from "../text/numbers";

const WHOLE = new Set(["source.ids", "target.ids", "mask.bits"]);

export function word(id: number): string {
  return content.vocabulary[id] ?? String(id);
}

function words(side: "source" | "target"): string[] {
  return engine.value(`${side}.ids`).map((row) => word(row[0] ?? 0));
}

export function names(axis: Axis, count: number): string[] {
  if (axis === "source" || axis === "target") return words(axis);
  if (axis === "vocabulary") return [...content.vocabulary];
  if (axis === "one") return Array.from({ length: count }, () => "");
  const first = axis === "position" ? 0 : 1;
  return Array.from({ length: count }, (_, place) => String(place + first));
}

/** As few decimals as say the value: for what is given. */
export function short(value: number): string {
  const rounded = Number(value.toFixed(DECIMALS));
  return (Object.is(rounded, -0) ? "0" : String(rounded)).replace("-", "−");
}

export function full(value: number): string {
  return value === -Infinity ? "−∞" : String(value).replace("-", "−");
}

export function isWhole(ref: string): boolean {
  return WHOLE.has(ref);
}

/** The text of a cell of a step or a given matrix. */
export function cellText(ref: string, row: number, column: number): string {
  const value = at(engine.value(ref), row, column);
  if (isMasked(engine, ref, row, column)) return t("matrix.masked");
  if (engine.isGiven(ref)) return short(value);
  if (ref.endsWith("prediction")) return `${value} · ${word(value)}`;
  return decimal(value);
}

/** A symbol without the marks of its notation, for a screen reader and for a test: "S_1" is "S1". */
export function spoken(symbol: string): string {
  return symbol.replace(/[_^]/g, "");
}

export function cellName(label: string, rows: readonly string[], columns: readonly string[], row: number, column: number): string {
  const place = [rows[row], columns[column]].filter((name) => name !== undefined && name !== "");
  return place.length ? `${spoken(label)}[${place.join(", ")}]` : spoken(label);
}

export function operandNames(operand: Operand, values: Matrix): [string[], string[]] {
  return [names(operand.rows, values.length), names(operand.across, values[0]?.length ?? 0)];
}

export function stepNames(step: Step): [string[], string[]] {
  const values = engine.value(step.name);
  return [names(step.rows, values.length), names(step.across, values[0]?.length ?? 0)];
}

export const SECTIONS = [...new Set(STEPS.map(({ section }) => section))];

/** "2.4": the fourth step of the second section. */
export function numberOf(step: Step): string {
  const inSection = STEPS.filter(({ section }) => section === step.section);
  return `${SECTIONS.indexOf(step.section) + 1}.${inSection.indexOf(step) + 1}`;
}

export function titleOf(step: Step): string {
  return said(`title.${step.title}`, { head: step.head ?? 1 });
}

export function isChanged(ref: string, row: number, column: number): boolean {
  return !Object.is(engine.value(ref)[row]?.[column], original.value(ref)[row]?.[column]);
}

export function hasChanged(ref: string): boolean {
  return engine.value(ref).some((cells, row) => cells.some((_, column) => isChanged(ref, row, column)));
}
