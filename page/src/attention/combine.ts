// Several heads as one map: their mean, their maximum, and rollout through the layers (Abnar and Zuidema 2020).
import { type Attention, type Kind, type Layer, type Weights } from "./data";

function each(rows: number, columns: number, value: (row: number, column: number) => number): Weights {
  return Array.from({ length: rows }, (_, row) => Float64Array.from({ length: columns }, (_, column) => value(row, column)));
}

function over(heads: readonly Weights[], join: (values: readonly number[]) => number): Weights {
  const [first] = heads;
  return each(first?.length ?? 0, first?.[0]?.length ?? 0, (row, column) => join(heads.map((head) => head[row]?.[column] ?? 0)));
}

export function mean(heads: readonly Weights[]): Weights {
  return over(heads, (values) => values.reduce((sum, one) => sum + one, 0) / values.length);
}

/** The largest weight of any head; its rows do not add up to 1. */
export function maximum(heads: readonly Weights[]): Weights {
  return over(heads, (values) => Math.max(...values));
}

export function product(left: Weights, right: Weights): Weights {
  return each(left.length, right[0]?.length ?? 0, (row, column) => {
    let sum = 0;
    left[row]?.forEach((value, place) => (sum += value * (right[place]?.[column] ?? 0)));
    return sum;
  });
}

/** Half of a row is the residual connection, which passes each position on to itself. */
function withResidual(weights: Weights): Weights {
  return each(weights.length, weights.length, (row, column) => 0.5 * (weights[row]?.[column] ?? 0) + (row === column ? 0.5 : 0));
}

function chained(layers: readonly Layer[]): Weights | undefined {
  return layers.map(({ heads }) => withResidual(mean(heads))).reduce<Weights | undefined>((below, one) => (below ? product(one, below) : one), undefined);
}

const upTo = ({ layers }: Attention, kind: Kind, last: number): readonly Layer[] =>
  layers.filter((one) => one.kind === kind && one.layer <= last).sort((a, b) => a.layer - b.layer);

/**
 * What each position of a layer takes from the first layer's inputs, over all paths: the mean of the heads and the
 * residual connection, multiplied through the layers. Cross-attention goes on through the whole encoder.
 */
export function rollout(attention: Attention, kind: Kind, layer: number): Weights {
  if (kind !== "cross") return chained(upTo(attention, kind, layer)) ?? [];
  const across = mean(attention.layers.find((one) => one.kind === "cross" && one.layer === layer)?.heads ?? []);
  const encoder = chained(upTo(attention, "encoder", Infinity));
  return encoder ? product(across, encoder) : across;
}
