// What Python wrote into the file: the given matrices, its own values, and what the documents print.
import { largestDifference, type Matrix } from "../engine/matrix";
import type { Given } from "../engine/engine";
import type { Both } from "../shell/languages";

type Written = number | "-inf" | readonly Written[];

interface WrittenPrinted {
  readonly document: string;
  readonly value: Written;
  readonly verdict: "equal" | "rounding" | "wrong";
  readonly reason: Both;
}

export interface WrittenContent {
  readonly trace: { readonly name: string; readonly steps: readonly { readonly name: string; readonly value: Written }[] };
  readonly forward: Readonly<Record<string, Written>>;
  readonly given: Readonly<Record<string, Written>>;
  readonly vocabulary: readonly string[];
  readonly title: Both;
  readonly assumptions: readonly Both[];
  readonly printed: Readonly<Record<string, readonly WrittenPrinted[]>>;
}

export interface Printed extends Omit<WrittenPrinted, "value"> {
  readonly value: Matrix;
}

export interface Content {
  readonly name: string;
  readonly given: Given;
  /** Python's value of each step. */
  readonly python: ReadonlyMap<string, Matrix>;
  readonly vocabulary: readonly string[];
  readonly title: Both;
  readonly assumptions: readonly Both[];
  readonly printed: ReadonlyMap<string, readonly Printed[]>;
}

function number(value: Written): number {
  if (value === "-inf") return -Infinity;
  if (typeof value !== "number") throw new TypeError("a number is missing");
  return value;
}

/** A vector is a matrix of one column, as the page shows it. */
function matrixOf(value: Written): Matrix {
  if (!Array.isArray(value)) throw new TypeError("a matrix is missing");
  return value.map((row: Written) => (Array.isArray(row) ? row.map(number) : [number(row)]));
}

export function read(written: WrittenContent): Content {
  const printed = Object.entries(written.printed).map(
    ([name, all]) => [name, all.map((one) => ({ ...one, value: matrixOf(one.value) }))] as const,
  );
  const forward = Object.entries(written.forward).map(([name, value]) => [name, matrixOf(value)] as const);
  const traced = written.trace.steps.map(({ name, value }) => [name, matrixOf(value)] as const);
  return {
    name: written.trace.name,
    given: Object.fromEntries(Object.entries(written.given).map(([name, value]) => [name, matrixOf(value)])),
    python: new Map([...forward, ...traced]),
    vocabulary: written.vocabulary,
    title: written.title,
    assumptions: written.assumptions,
    printed: new Map(printed),
  };
}

/** How far a value is from Python's; undefined where Python wrote none. */
export function fromPython(content: Content, name: string, value: Matrix): number | undefined {
  const python = content.python.get(name);
  return python && largestDifference(value, python);
}
