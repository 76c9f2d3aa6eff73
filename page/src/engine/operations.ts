// What a step does: its value from its operands, and the operands' cells that one cell of the value is made from.
import { at, matrix, rowOf, width, type Matrix } from "./matrix";

export type Kind =
  | "lookup" | "positions" | "add" | "multiply" | "affine" | "scale" | "mask" | "masked" | "softmax" | "concat"
  | "norm" | "relu" | "argmax";

/** A cell of an operand, as the operand is shown: cut to its columns and transposed where it is. */
export interface Place {
  readonly operand: number;
  readonly row: number;
  readonly column: number;
}

export interface Operation {
  compute(operands: readonly Matrix[]): Matrix;
  sources(operands: readonly Matrix[], row: number, column: number): Place[];
}

export const EPSILON = 1e-6;
const BASE = 10_000;

export function operand(operands: readonly Matrix[], place: number): Matrix {
  const found = operands[place];
  if (found === undefined) throw new RangeError(`no operand ${place}`);
  return found;
}

/** The angle whose sine (even columns) or cosine (odd ones) is added at a position. */
export function angle(position: number, column: number, columns: number): number {
  return position / BASE ** ((2 * Math.floor(column / 2)) / columns);
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

export function variance(values: readonly number[]): number {
  const middle = mean(values);
  return mean(values.map((value) => (value - middle) ** 2));
}

/** A row with nothing but masked scores gets zeros, as Python's softmax gives it. */
export function softmax(scores: readonly number[]): readonly number[] {
  const largest = Math.max(...scores);
  if (largest === -Infinity) return scores.map(() => 0);
  const powers = scores.map((score) => Math.exp(score - largest));
  const sum = powers.reduce((total, power) => total + power, 0);
  return powers.map((power) => power / sum);
}

export function largestPlace(values: readonly number[]): number {
  return values.reduce((best, value, place) => (value > (values[best] ?? -Infinity) ? place : best), 0);
}

function product(first: Matrix, second: Matrix): Matrix {
  return matrix(first.length, width(second), (row, column) =>
    rowOf(first, row).reduce((sum, value, inner) => sum + value * at(second, inner, column), 0),
  );
}

function rowPlaces(values: Matrix, operand: number, row: number): Place[] {
  return rowOf(values, row).map((_, column) => ({ operand, row, column }));
}

function productPlaces(operands: readonly Matrix[], row: number, column: number): Place[] {
  const below = operand(operands, 1).map((_, inner) => ({ operand: 1, row: inner, column }));
  return [...rowPlaces(operand(operands, 0), 0, row), ...below];
}

const same = (_: readonly Matrix[], row: number, column: number): Place[] => [{ operand: 0, row, column }];
const both = (_: readonly Matrix[], row: number, column: number): Place[] => [
  { operand: 0, row, column },
  { operand: 1, row, column },
];

function byCell(first: Matrix, value: (cell: number, row: number, column: number) => number): Matrix {
  return first.map((cells, row) => cells.map((cell, column) => value(cell, row, column)));
}

const lookup: Operation = {
  compute: ([table = [], ids = []]) => ids.map((id) => rowOf(table, id[0] ?? 0)),
  sources: (operands, row, column) => [
    { operand: 0, row: at(operand(operands, 1), row, 0), column },
    { operand: 1, row, column: 0 },
  ],
};

const WIDTH = 4;
const LENGTH = 4;
const positions: Operation = {
  compute: ([on = []]) =>
    matrix(LENGTH, WIDTH, (row, column) => {
      const turned = angle(row, column, WIDTH);
      return at(on, 0, 0) === 0 ? 0 : at(on, 0, 0) * (column % 2 === 0 ? Math.sin(turned) : Math.cos(turned));
    }),
  sources: () => [{ operand: 0, row: 0, column: 0 }],
};

const norm: Operation = {
  compute: ([before = [], gain = [], shift = []]) =>
    before.map((cells) => {
      const middle = mean(cells);
      const deviation = Math.sqrt(variance(cells) + EPSILON);
      return cells.map((cell, column) => ((cell - middle) / deviation) * at(gain, 0, column) + at(shift, 0, column));
    }),
  sources: (operands, row, column) => [
    ...rowPlaces(operand(operands, 0), 0, row),
    { operand: 1, row: 0, column },
    { operand: 2, row: 0, column },
  ],
};

const wholeRow = (operands: readonly Matrix[], row: number): Place[] => rowPlaces(operand(operands, 0), 0, row);

export const OPERATIONS: Record<Kind, Operation> = {
  lookup,
  positions,
  norm,
  // The second operand may have more rows: the table of positions serves both texts.
  add: { compute: ([a = [], b = []]) => byCell(a, (cell, row, column) => cell + at(b, row, column)), sources: both },
  masked: { compute: ([a = [], b = []]) => byCell(a, (cell, row, column) => cell + at(b, row, column)), sources: both },
  multiply: { compute: ([a = [], b = []]) => product(a, b), sources: productPlaces },
  affine: {
    compute: ([a = [], b = [], bias = []]) => byCell(product(a, b), (cell, _, column) => cell + at(bias, 0, column)),
    sources: (operands, row, column) => [...productPlaces(operands, row, column), { operand: 2, row: 0, column }],
  },
  scale: {
    compute: ([a = [], factor = []]) => byCell(a, (cell) => cell * at(factor, 0, 0)),
    sources: (_, row, column) => [{ operand: 0, row, column }, { operand: 1, row: 0, column: 0 }],
  },
  mask: { compute: ([bits = []]) => byCell(bits, (bit) => (bit === 0 ? -Infinity : 0)), sources: same },
  softmax: { compute: ([scores = []]) => scores.map(softmax), sources: wholeRow },
  concat: {
    compute: ([a = [], b = []]) => a.map((cells, row) => [...cells, ...rowOf(b, row)]),
    sources: ([a = []], row, column) => {
      const first = width(a);
      return column < first ? [{ operand: 0, row, column }] : [{ operand: 1, row, column: column - first }];
    },
  },
  relu: { compute: ([a = []]) => byCell(a, (cell) => Math.max(0, cell)), sources: same },
  argmax: { compute: ([a = []]) => a.map((cells) => [largestPlace(cells)]), sources: wholeRow },
};
