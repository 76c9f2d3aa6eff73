// "Where this number comes from": lines of a formula with the numbers in place, each tied to the cell it is from.
import { at, rowOf, type Matrix } from "./matrix";
import { EPSILON, angle, largestPlace, mean, operand, variance, type Place } from "./operations";
import type { Step } from "./steps";

export type Term = string | { readonly value: number; readonly place?: Place; readonly masked?: boolean };
/** A line of a formula; `note` is the key of a text that says what the line is. */
export interface Line {
  readonly note?: string;
  readonly terms: readonly Term[];
}

type Explain = (operands: readonly Matrix[], row: number, column: number, value: number) => Line[];

function cell(operands: readonly Matrix[], place: number, row: number, column: number): Term {
  return { value: at(operand(operands, place), row, column), place: { operand: place, row, column } };
}

function joined(terms: readonly (readonly Term[])[], by: string): Term[] {
  return terms.flatMap((term, place) => (place === 0 ? term : [by, ...term]));
}

function products(operands: readonly Matrix[], row: number, column: number): Term[] {
  return joined(
    rowOf(operand(operands, 0), row).map((_, inner) => [
      cell(operands, 0, row, inner), " · ", cell(operands, 1, inner, column),
    ]),
    " + ",
  );
}

const plain = (value: number): Term => ({ value });
const result = (value: number): Line => ({ terms: ["= ", plain(value)] });

const softmaxLines: Explain = (operands, row, column, value) => {
  const scores = rowOf(operand(operands, 0), row);
  const largest = Math.max(...scores);
  if (largest === -Infinity) return [{ note: "formula.allMasked", terms: ["= ", plain(0)] }];
  const powers = scores.map((score) => Math.exp(score - largest));
  const sum = powers.reduce((total, power) => total + power, 0);
  const own = at(operand(operands, 0), row, column);
  return [
    { note: "formula.max", terms: ["max = ", { value: largest, place: { operand: 0, row, column: scores.indexOf(largest) } }] },
    { note: "formula.exp", terms: ["exp(", cell(operands, 0, row, column), " − ", plain(largest), ") = ", plain(Math.exp(own - largest))] },
    { note: "formula.total", terms: [...joined(powers.map((power) => [plain(power)]), " + "), " = ", plain(sum)] },
    { note: "formula.divide", terms: [plain(Math.exp(own - largest)), " / ", plain(sum)] },
    result(value),
  ];
};

const normLines: Explain = (operands, row, column, value) => {
  const values = rowOf(operand(operands, 0), row);
  const terms = values.map((_, inner) => [cell(operands, 0, row, inner)]);
  return [
    { note: "formula.mean", terms: ["μ = (", ...joined(terms, " + "), ") / ", String(values.length), " = ", plain(mean(values))] },
    { note: "formula.variance", terms: ["σ² = ", plain(variance(values))] },
    {
      note: "formula.normed",
      terms: [cell(operands, 1, 0, column), " · (", cell(operands, 0, row, column), " − ", plain(mean(values)), ") / √(",
        plain(variance(values)), " + ", String(EPSILON), ") + ", cell(operands, 2, 0, column)],
    },
    result(value),
  ];
};

const positionLines: Explain = (operands, row, column, value) => {
  const name = column % 2 === 0 ? "sin" : "cos";
  const power = 2 * Math.floor(column / 2);
  const turned = angle(row, column, 4);
  const wave = column % 2 === 0 ? Math.sin(turned) : Math.cos(turned);
  return [
    { terms: [`${name}(${row} / 10000^(${power}/4)) = ${name}(`, plain(turned), ") = ", plain(wave)] },
    { note: "formula.switch", terms: [cell(operands, 0, 0, 0), " · ", plain(wave)] },
    result(value),
  ];
};

const argmaxLines: Explain = (operands, row, _column, value) => {
  const values = rowOf(operand(operands, 0), row);
  const best = largestPlace(values);
  return [{ note: "formula.argmax", terms: ["max = ", cell(operands, 0, row, best)] }, { terms: ["= ", String(value)] }];
};

const addLines: Explain = (operands, row, column, value) => [
  { terms: [cell(operands, 0, row, column), " + ", cell(operands, 1, row, column)] }, result(value),
];

const EXPLAIN: Record<Step["operation"], Explain> = {
  lookup: (operands, row, column, value) => {
    const id = at(operand(operands, 1), row, 0);
    return [{ note: "formula.lookup", terms: [`W_e[${id}, ${column + 1}]`] }, { terms: ["= ", { value, place: { operand: 0, row: id, column } }] }];
  },
  positions: positionLines,
  add: addLines,
  masked: addLines,
  multiply: (operands, row, column, value) => [{ terms: products(operands, row, column) }, result(value)],
  affine: (operands, row, column, value) => [
    { terms: [...products(operands, row, column), " + ", cell(operands, 2, 0, column)] }, result(value),
  ],
  scale: (operands, row, column, value) => [
    { terms: [cell(operands, 0, row, column), " · ", cell(operands, 1, 0, 0)] }, result(value),
  ],
  mask: (operands, row, column, value) => [
    { note: value === 0 ? "formula.open" : "formula.closed", terms: [cell(operands, 0, row, column), " → ", plain(value)] },
  ],
  softmax: softmaxLines,
  concat: (operands, row, column, value) => {
    const first = operand(operands, 0)[0]?.length ?? 0;
    const place = column < first ? { operand: 0, row, column } : { operand: 1, row, column: column - first };
    return [{ note: "formula.copied", terms: ["= ", { value, place }] }];
  },
  norm: normLines,
  relu: (operands, row, column, value) => [{ terms: ["max(0, ", cell(operands, 0, row, column), ")"] }, result(value)],
  argmax: argmaxLines,
};

export function formula(step: Step, operands: readonly Matrix[], row: number, column: number, value: number): Line[] {
  return EXPLAIN[step.operation](operands, row, column, value);
}
