// What is in view of a trace: the step, the places on its outer axes, and the cell.
import { batch, computed, signal } from "@preact/signals";
import { namesOf, valueOf, type WrittenStep, type WrittenTrace } from "./data";

export const trace = signal<WrittenTrace | null>(null);
export const place = signal(0);
export const outer = signal<readonly number[]>([]);
export const cell = signal<{ readonly row: number; readonly column: number }>({ row: 0, column: 0 });
/** Counts wishes to move the focus to the chosen cell. */
export const focusWanted = signal(0);
/** What an address asked for before there was a trace. */
let wanted = "";

export const step = computed<WrittenStep | undefined>(() => trace.value?.steps[place.value]);

export function take(written: WrittenTrace): void {
  batch(() => {
    trace.value = written;
    go(wanted || step.peek()?.name || "");
    wanted = "";
  });
}

const clamp = (value: number, size: number): number => Math.min(Math.max(0, value), Math.max(0, size - 1));

/** Shows a step; the cell and the places of outer axes stay, as far as it has them. */
export function go(name: string): void {
  const steps = trace.value?.steps ?? [];
  const found = Math.max(0, steps.findIndex((one) => one.name === name));
  const to = steps[found];
  batch(() => {
    place.value = found;
    if (!to) return;
    const value = valueOf(to);
    outer.value = value.outer.map((size, axis) => clamp(outer.value[axis] ?? 0, size));
    cell.value = { row: clamp(cell.value.row, value.rows), column: clamp(cell.value.column, value.columns) };
  });
}

export function move(by: number): void {
  const next = trace.value?.steps[place.value + by];
  if (next) go(next.name);
}

export function choose(row: number, column: number): void {
  const of = step.value;
  if (!of) return;
  const value = valueOf(of);
  cell.value = { row: clamp(row, value.rows), column: clamp(column, value.columns) };
}

export function turn(axis: number, to: number): void {
  outer.value = outer.value.map((one, number) => (number === axis ? to : one));
}

/** The steps that a step's value goes into. */
export function uses(name: string): readonly WrittenStep[] {
  return (trace.value?.steps ?? []).filter(({ inputs }) => inputs.includes(name));
}

export const rowNames = computed(() => (trace.value && step.value ? namesOf(trace.value, step.value, -2) : []));
export const columnNames = computed(() => (trace.value && step.value ? namesOf(trace.value, step.value, -1) : []));

export function parameters(): Record<string, string> {
  if (!step.value) return {};
  const { row, column } = cell.value;
  return {
    s: step.value.name, c: `${row + 1},${column + 1}`,
    ...(outer.value.length > 0 && { o: outer.value.map((one) => one + 1).join(",") }),
  };
}

const numbers = (text: string | null): number[] => (text ?? "").split(",").map((part) => Math.max(1, Number.parseInt(part, 10) || 1) - 1);

export function follow(asked: URLSearchParams): void {
  const [row = 0, column = 0] = numbers(asked.get("c"));
  batch(() => {
    if (asked.has("o")) outer.value = numbers(asked.get("o"));
    if (asked.has("c")) cell.value = { row, column };
    const name = asked.get("s") ?? "";
    if (trace.value) go(name || step.value?.name || "");
    else wanted = name;
  });
}
