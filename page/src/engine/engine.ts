// The graph: a signal for each given matrix, a computed signal for each step, and one stack for undo.
import { batch, computed, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import { at, matrix, transposed, withCell, type Matrix } from "./matrix";
import { OPERATIONS, type Place } from "./operations";
import { STEP, STEPS, type Operand, type Step } from "./steps";

export type Given = Readonly<Record<string, Matrix>>;

/** An operand as it is shown: cut to its columns, then transposed where it is. */
export function shown(values: Matrix, { columns, transposed: turned }: Operand): Matrix {
  const cut = columns ? values.map((cells) => cells.slice(columns[0], columns[1])) : values;
  return turned ? transposed(cut) : cut;
}

/** Row and column, in the whole matrix, of a cell of a shown operand. */
export function origin({ columns, transposed: turned }: Operand, row: number, column: number): [number, number] {
  const [first, second] = turned ? [column, row] : [row, column];
  return [first, second + (columns?.[0] ?? 0)];
}

export class Engine {
  readonly given: Given;
  /** How often each step was calculated; tests read it. */
  readonly calculated = new Map<string, number>();
  private readonly parameters = new Map<string, Signal<Matrix>>();
  private readonly values = new Map<string, ReadonlySignal<Matrix>>();
  private readonly before = signal<readonly Given[]>([]);

  constructor(given: Given) {
    this.given = given;
    for (const [name, value] of Object.entries(given)) this.parameters.set(name, signal(value));
    for (const step of STEPS) this.values.set(step.name, computed(() => this.calculate(step)));
  }

  private calculate(step: Step): Matrix {
    this.calculated.set(step.name, (this.calculated.get(step.name) ?? 0) + 1);
    return OPERATIONS[step.operation].compute(this.operands(step));
  }

  value(ref: string): Matrix {
    const found = this.values.get(ref) ?? this.parameters.get(ref);
    if (found === undefined) throw new RangeError(`no step and no given matrix ${ref}`);
    return found.value;
  }

  operands(step: Step): Matrix[] {
    return step.operands.map((operand) => shown(this.value(operand.ref), operand));
  }

  sources(step: Step, row: number, column: number): Place[] {
    return OPERATIONS[step.operation].sources(this.operands(step), row, column);
  }

  isGiven(ref: string): boolean {
    return this.parameters.has(ref);
  }

  edit(name: string, row: number, column: number, value: number): void {
    this.replace({ [name]: withCell(this.value(name), row, column, value) });
  }

  /** Replaces given matrices, as one entry of the undo stack. Those that stay the same are left alone. */
  replace(changes: Given): void {
    const kept: Record<string, Matrix> = {};
    for (const [name, value] of Object.entries(changes)) {
      const old = this.value(name);
      if (old.some((cells, row) => cells.some((cell, column) => !Object.is(cell, at(value, row, column))))) kept[name] = old;
    }
    if (Object.keys(kept).length === 0) return;
    batch(() => {
      this.before.value = [...this.before.value, kept];
      for (const name of Object.keys(kept)) this.set(name, changes[name] ?? []);
    });
  }

  undo(): void {
    const last = this.before.value.at(-1);
    if (last === undefined) return;
    batch(() => {
      this.before.value = this.before.value.slice(0, -1);
      for (const [name, value] of Object.entries(last)) this.set(name, value);
    });
  }

  /** Takes the given values back, which undo can undo. */
  reset(): void {
    this.replace(this.given);
  }

  get canUndo(): boolean {
    return this.before.value.length > 0;
  }

  get edited(): string[] {
    return [...this.parameters].filter(([name, values]) => values.value !== this.given[name]).map(([name]) => name);
  }

  private set(name: string, value: Matrix): void {
    const parameter = this.parameters.get(name);
    if (parameter) parameter.value = value;
  }
}

/** Whether a cell is hidden by the mask: minus infinity itself, or the weight of a score that is. */
export function isMasked(engine: Engine, ref: string, row: number, column: number): boolean {
  const step = STEP.get(ref);
  if (step?.operation === "softmax") return isMasked(engine, step.operands[0]?.ref ?? "", row, column);
  return step !== undefined && engine.value(ref)[row]?.[column] === -Infinity;
}

/** All steps that a given matrix or a step goes into, directly or through others. */
export function dependants(ref: string): Set<string> {
  const found = new Set<string>();
  for (const step of STEPS) {
    if (step.operands.some((operand) => operand.ref === ref || found.has(operand.ref))) found.add(step.name);
  }
  return found;
}

export interface Use {
  readonly step: Step;
  /** The cells of that step that are made from the cell. */
  readonly cells: readonly (readonly [number, number])[];
}

/** Where a cell goes: the steps it goes into directly, and which of their cells. */
export function uses(engine: Engine, ref: string, row: number, column: number): Use[] {
  const takes = (step: Step, place: Place): boolean => {
    const operand = step.operands[place.operand];
    if (operand?.ref !== ref) return false;
    const [from, across] = origin(operand, place.row, place.column);
    return from === row && across === column;
  };
  return STEPS.filter((step) => step.operands.some((operand) => operand.ref === ref))
    .map((step) => {
      const cells = engine.value(step.name).flatMap((values, r) =>
        values.map((_, c) => [r, c] as const).filter(([r, c]) => engine.sources(step, r, c).some((place) => takes(step, place))),
      );
      return { step, cells };
    })
    .filter((use) => use.cells.length > 0);
}

export function ones(like: Matrix): Matrix {
  return matrix(like.length, like[0]?.length ?? 0, () => 1);
}
