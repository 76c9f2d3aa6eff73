// A trace as Python writes it: steps with their values, where each comes from, and what documents say of it.
import type { Both } from "../shell/languages";

export interface WrittenStep {
  /** Unique, with dots: "encoder.layers.0.self_attention.scores". */
  readonly name: string;
  readonly title: Both;
  readonly equation: string;
  readonly source: string;
  readonly code: string;
  readonly inputs: readonly string[];
  readonly parameters: readonly string[];
  readonly axes: readonly string[];
  readonly shape: readonly number[];
  /** The list of `names` that labels an axis. */
  readonly labels: Readonly<Record<string, number>>;
  readonly isWhole: boolean;
  /** Each row is a distribution. */
  readonly areShares: boolean;
  /** The last two axes are rows and columns of a picture's patches. */
  readonly isOnPatches: boolean;
  /** Base64 of little-endian float32, or of float64. */
  readonly value: string;
  readonly isDouble: boolean;
  readonly printed: readonly { readonly document: string; readonly value: string; readonly verdict: "equal" | "rounding" | "wrong"; readonly reason: Both }[];
  readonly said: readonly { readonly document: string; readonly sentence: Both; readonly holds: boolean; readonly found: Both }[];
}

export interface WrittenTrace {
  readonly name: string;
  readonly title: Both;
  readonly assumptions: readonly Both[];
  readonly names: readonly (readonly string[])[];
  readonly steps: readonly WrittenStep[];
  readonly picture: { readonly width: number; readonly height: number; readonly url: string } | null;
}

/** The value of a step as matrices (rows, columns), one for each place on the axes before the last two. */
export class Value {
  readonly rows: number;
  readonly columns: number;
  /** Sizes of the axes before the last two. */
  readonly outer: readonly number[];
  private readonly numbers: Float64Array;

  constructor({ name, shape, value, isDouble }: WrittenStep) {
    [this.rows, this.columns] = [shape.at(-2) ?? 1, shape.at(-1) ?? 1];
    this.outer = shape.slice(0, -2);
    this.numbers = decoded(value, isDouble ? 8 : 4);
    const expected = shape.reduce((product, size) => product * size, 1);
    if (this.numbers.length !== expected) throw new RangeError(`${name}: ${this.numbers.length} numbers`);
  }

  /** The matrix at these places of the outer axes. */
  matrix(places: readonly number[]): Float64Array {
    const size = this.rows * this.columns;
    const start = this.outer.reduce((before, axis, number) => before * axis + (places[number] ?? 0), 0);
    return this.numbers.subarray(start * size, (start + 1) * size);
  }
}

function decoded(base64: string, bytesEach: 4 | 8): Float64Array {
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  const read = (place: number): number => (bytesEach === 8 ? view.getFloat64(8 * place, true) : view.getFloat32(4 * place, true));
  return Float64Array.from({ length: bytes.length / bytesEach }, (_, place) => read(place));
}

const values = new WeakMap<WrittenStep, Value>();

/** Decoded when it is first wanted. */
export function valueOf(step: WrittenStep): Value {
  const known = values.get(step);
  if (known) return known;
  const made = new Value(step);
  values.set(step, made);
  return made;
}

/** Names of the places of an axis, counted from the end: -1 for columns, -2 for rows. */
export function namesOf(trace: WrittenTrace, { axes, shape, labels }: WrittenStep, axis: number): readonly string[] {
  const list = trace.names[labels[axes.at(axis) ?? ""] ?? -1];
  const size = shape.at(axis);
  if (size === undefined) return [""];
  return list ?? Array.from({ length: size }, (_, place) => String(place));
}

export interface Summary {
  readonly least: number;
  readonly most: number;
  readonly mean: number;
}

/** Of the finite numbers. */
export function summary(numbers: Float64Array): Summary | null {
  let [least, most, sum, count] = [Infinity, -Infinity, 0, 0];
  for (const one of numbers) {
    if (!Number.isFinite(one)) continue;
    least = Math.min(least, one);
    most = Math.max(most, one);
    sum += one;
    count += 1;
  }
  return count ? { least, most, mean: sum / count } : null;
}

/** The part of the steps that a step belongs to: "encoder.layers.0", or what its name begins with. */
export function groupOf(name: string): string {
  return /^.*?\.layers\.\d+/.exec(name)?.[0] ?? (name.includes(".") ? (name.split(".")[0] ?? "") : "");
}

/** Steps that follow one another and belong to the same part. */
export function grouped(steps: readonly WrittenStep[]): readonly (readonly [string, readonly WrittenStep[]])[] {
  const found: [string, WrittenStep[]][] = [];
  for (const one of steps) {
    const group = groupOf(one.name);
    const last = found.at(-1);
    if (last?.[0] === group) last[1].push(one);
    else found.push([group, [one]]);
  }
  return found;
}
