// Runs as Python writes them, and what is calculated of them here: curves, smoothed curves, seeds together.
export const FIGURES = ["bleu", "chrf", "exact", "score", "loss"] as const;
export type Figure = (typeof FIGURES)[number];
export type Column = "step" | "seconds" | "likelihood" | "loss" | "learning_rate" | "gradient_norm" | "tokens_per_second";

export interface Validation {
  readonly step: number;
  readonly seconds: number | null;
  readonly figures: Readonly<Record<Figure, number | null>>;
  /** Source, reference, output. */
  readonly sample: readonly [string, string, string] | null;
}

export interface Run {
  readonly name: string;
  readonly is_finished: boolean;
  readonly made: number;
  readonly wanted: number | null;
  readonly updated: number | null;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly every: number;
  readonly curves: Readonly<Partial<Record<Column, readonly (number | null)[]>>>;
  readonly validations: readonly Validation[];
  readonly score_name: string;
  readonly damaged: readonly number[];
  readonly metric: Figure;
  readonly best: number | null;
}

export type Point = readonly [number, number];
export type Across = "step" | "seconds";

/** A curve; `band`: x, the low and the high edge of what lies around it. */
export interface Curve {
  readonly name: string;
  readonly points: readonly Point[];
  readonly band?: readonly (readonly [number, number, number])[];
}

/** A point, and the update that it was recorded at. */
export type Recorded = readonly [x: number, y: number, step: number];

const known = (points: readonly (readonly (number | null | undefined)[])[]): Recorded[] =>
  points.filter((one): one is Recorded => one.length === 3 && one.every((value) => typeof value === "number"));

/** A column of the log over updates or over seconds of training. */
export function logged(run: Run, column: Column, across: Across): Recorded[] {
  return known((run.curves.step ?? []).map((step, place) => [run.curves[across]?.[place], run.curves[column]?.[place], step]));
}

/** How long a run has trained so far. */
export function secondsOf({ curves }: Run): number {
  return curves.seconds?.filter((one) => one !== null).at(-1) ?? 0;
}

/** A figure of the validations, shares per hundred. */
export function validated(run: Run, figure: Figure, across: Across): Recorded[] {
  return known(run.validations.map((one) => [one[across], shownFigure(figure, one.figures[figure]), one.step]));
}

export function shownFigure(figure: Figure, value: number | null): number | null {
  return value === null || figure !== "exact" ? value : 100 * value;
}

/** The exponential mean of a curve, without the pull of its beginning (as Adam's moments are corrected). */
export function smoothed(points: readonly Recorded[], share: number): Recorded[] {
  let [sum, weight] = [0, 0];
  return points.map(([x, y, step]) => {
    sum = share * sum + (1 - share) * y;
    weight = share * weight + (1 - share);
    return [x, sum / weight, step];
  });
}

/** The figures that at least one of these runs has. */
export function figuresOf(runs: readonly Run[]): Figure[] {
  return FIGURES.filter((figure) => runs.some(({ validations }) => validations.some(({ figures }) => figures[figure] !== null)));
}

export interface Difference {
  readonly key: string;
  readonly values: readonly unknown[];
}

const same = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/** The settings whose values are not the same in all of these runs. */
export function differences(runs: readonly Run[]): Difference[] {
  const keys = [...new Set(runs.flatMap(({ settings }) => Object.keys(settings)))];
  return keys
    .map((key) => ({ key, values: runs.map(({ settings }) => settings[key] ?? null) }))
    .filter(({ values }) => values.some((one) => !same(one, values[0])));
}

const SEED = "training.seed";

/** Runs that differ in their seed alone, together; in the order of the first of each. */
export function bySeed(runs: readonly Run[]): (readonly Run[])[] {
  const groups = new Map<string, Run[]>();
  for (const run of runs) {
    const others = Object.entries(run.settings).filter(([key]) => key !== SEED).sort(([a], [b]) => (a < b ? -1 : 1));
    const key = JSON.stringify(others);
    groups.set(key, [...(groups.get(key) ?? []), run]);
  }
  return [...groups.values()];
}

/** Student's t for a two-sided interval of 95 %, by degrees of freedom from 1. */
const STUDENT = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131, 2.12, 2.11, 2.101, 2.093, 2.086];
const MANY = 1.96;

/** The mean of curves at the updates that all of them have, with its 95 % interval (Student's t). */
export function meanOf(name: string, curves: readonly (readonly Recorded[])[]): Curve {
  const [first = [], ...others] = curves;
  if (others.length === 0) return { name, points: first.map(([x, y]) => [x, y]) };
  const byStep = others.map((points) => new Map(points.map((one) => [one[2], one])));
  const count = curves.length;
  const average = (values: readonly number[]): number => values.reduce((sum, one) => sum + one, 0) / count;
  const shared = first.map((one) => [one, ...byStep.map((points) => points.get(one[2])).filter((other) => other !== undefined)]);
  const found = shared.filter((all) => all.length === count).map((all) => {
    const [x, mean] = [average(all.map(([one]) => one)), average(all.map(([, one]) => one))];
    const variance = all.reduce((sum, [, one]) => sum + (one - mean) ** 2, 0) / (count - 1);
    return { x, mean, half: (STUDENT[count - 2] ?? MANY) * Math.sqrt(variance / count) };
  });
  return { name, points: found.map(({ x, mean }) => [x, mean]), band: found.map(({ x, mean, half }) => [x, mean - half, mean + half]) };
}
