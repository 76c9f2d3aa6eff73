// What is in view: the step, the cell, and what is hidden to be predicted.
import { batch, computed, signal } from "@preact/signals";
import { read, type Content, type WrittenContent } from "./content";
import { Engine } from "../engine/engine";
import { STEP, STEPS, type Step } from "../engine/steps";
import type { Place } from "../engine/operations";

export interface Cell {
  readonly row: number;
  readonly column: number;
}

const FIRST = STEPS[0]?.name ?? "";
export let content: Content;
export let engine: Engine;
/** The values as given, which edits leave alone: what "changed" and "before" refer to. */
export let original: Engine;

export const stepName = signal(FIRST);
export const cell = signal<Cell>({ row: 0, column: 0 });
/** The operand's cell that was pointed at last, if any. */
export const pointed = signal<Place | null>(null);
export const predicting = signal(false);
export const revealed = signal<ReadonlySet<string>>(new Set());
export const message = signal("");
/** Counts wishes to move the focus to the chosen cell of the result. */
export const focusWanted = signal(0);

export const step = computed<Step>(() => STEP.get(stepName.value) ?? STEPS[0]!);
export const place = computed(() => STEPS.findIndex(({ name }) => name === step.value.name));

/** Takes the content of the page, before anything is shown. */
export function begin(written: WrittenContent): void {
  content = read(written);
  engine = new Engine(content.given);
  original = new Engine(content.given);
}

function inside(name: string, { row, column }: Cell): Cell {
  const values = engine.value(name);
  const last = values.length - 1;
  return {
    row: Math.min(Math.max(0, row), last),
    column: Math.min(Math.max(0, column), (values[0]?.length ?? 1) - 1),
  };
}

export function go(name: string, to: Cell = { row: 0, column: 0 }, focus = false): void {
  batch(() => {
    stepName.value = name;
    cell.value = inside(name, to);
    pointed.value = null;
    message.value = "";
    if (focus) focusWanted.value += 1;
  });
}

export function choose(row: number, column: number): void {
  batch(() => {
    cell.value = { row, column };
    pointed.value = null;
  });
}

export function move(by: number): void {
  const next = STEPS[place.value + by];
  if (next) go(next.name, cell.value);
}

export function isHidden(row: number, column: number): boolean {
  return predicting.value && !revealed.value.has(hiddenKey(row, column));
}

function hiddenKey(row: number, column: number): string {
  return `${step.value.name}:${row}:${column}`;
}

export function reveal(row: number, column: number): void {
  revealed.value = new Set([...revealed.value, hiddenKey(row, column)]);
}

export function parameters(): Record<string, string> {
  const { row, column } = cell.value;
  return { e: content.name, s: step.value.name, c: `${row + 1},${column + 1}` };
}

export function follow(asked: URLSearchParams): void {
  const [row = 1, column = 1] = (asked.get("c") ?? "").split(",").map((part) => Number.parseInt(part, 10) || 1);
  const name = asked.get("s") ?? "";
  go(STEP.has(name) ? name : FIRST, { row: row - 1, column: column - 1 });
}
