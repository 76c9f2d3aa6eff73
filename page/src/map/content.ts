// Maps of models as Python wrote them: boxes in the order of the figure, with weights, operations and what they are.
export type Side = "source" | "target";

/** Name, shape, number of layers, and the slot of the box that counts them, where they are shared. */
export type HeldWeight = readonly [string, readonly number[], number, string?];

export interface Box {
  /** Its place, the same in all models that have it: "encoder.self_attention". */
  readonly slot: string;
  readonly role: string;
  readonly side: Side;
  /** The layers that it repeats with; none: it is there once. */
  readonly stack?: string;
  readonly copies?: number;
  readonly module: string;
  readonly weights: readonly HeldWeight[];
  /** Floating-point operations of its products, for one sentence pair. */
  readonly operations: number;
  readonly shape: readonly number[];
  /** Number of heads, width of keys and of values. */
  readonly heads?: readonly [number, number, number];
  readonly meaning: number;
}

interface WrittenMap {
  readonly name: string;
  readonly settings: Readonly<Record<string, string | number | boolean>>;
  readonly sizes: readonly [number, number];
  readonly lengths: readonly [number, number];
  readonly boxes: readonly Box[];
}

export interface SourceLines {
  readonly name: string;
  readonly file: string;
  readonly first_line: number;
  readonly last_line: number;
  readonly source: string;
}

interface WrittenMeaning {
  readonly kind: string;
  readonly formulas: readonly string[];
  readonly source: string;
  readonly exhibits: readonly string[];
  readonly code: readonly number[];
}

export interface WrittenMaps {
  readonly schema: number;
  readonly family: Readonly<Record<string, string>>;
  readonly maps: readonly WrittenMap[];
  readonly meanings: readonly WrittenMeaning[];
  readonly code: readonly SourceLines[];
}

export interface Meaning extends Omit<WrittenMeaning, "code"> {
  readonly code: readonly SourceLines[];
}

export interface ModelMap extends WrittenMap {
  readonly meanings: readonly Meaning[];
}

const SCHEMA = 1;

/** The maps, each with its own meanings, so that maps of several answers can stand together. */
export function read({ schema, maps, meanings, code }: WrittenMaps): readonly ModelMap[] {
  if (schema !== SCHEMA) throw new RangeError(`maps of schema ${schema}`);
  const known = meanings.map((one) => ({ ...one, code: one.code.flatMap((number) => code[number] ?? []) }));
  return maps.map((one) => ({ ...one, meanings: known }));
}

/** How many weights these are: none where another box counts them. */
export function countOf([, shape, copies, countedAt]: HeldWeight): number {
  return countedAt === undefined ? shape.reduce((product, size) => product * size, copies) : 0;
}

export function weightsOf({ weights }: Box): number {
  return weights.reduce((sum, one) => sum + countOf(one), 0);
}

export function totals({ boxes }: ModelMap): { readonly weights: number; readonly operations: number } {
  const sum = (of: (box: Box) => number): number => boxes.reduce((all, box) => all + of(box), 0);
  return { weights: sum(weightsOf), operations: sum((box) => box.operations) };
}

export function boxOf({ boxes }: ModelMap, slot: string): Box | undefined {
  return boxes.find((box) => box.slot === slot);
}
