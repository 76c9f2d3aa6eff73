// What is in view. Step, cell, language and theme are in the address, so that a link leads to one cell.
import { batch, computed, effect, signal } from "@preact/signals";
import { read, type Content, type WrittenContent } from "../content";
import { Engine } from "../engine/engine";
import { STEP, STEPS, type Step } from "../engine/steps";
import type { Place } from "../engine/operations";
import { language } from "./texts";

export type Theme = "light" | "dark";
export interface Cell {
  readonly row: number;
  readonly column: number;
}

function written(): WrittenContent {
  return JSON.parse(document.getElementById("content")?.textContent ?? "") as WrittenContent;
}

const FIRST = STEPS[0]?.name ?? "";
export const content: Content = read(written());
export const engine = new Engine(content.given);
/** The values as given, which edits leave alone: what "changed" and "before" refer to. */
export const original = new Engine(content.given);

export const stepName = signal(FIRST);
export const cell = signal<Cell>({ row: 0, column: 0 });
/** The operand's cell that was pointed at last, if any. */
export const pointed = signal<Place | null>(null);
export const chosenLanguage = signal(false);
export const theme = signal<Theme | null>(null);
export const predicting = signal(false);
export const revealed = signal<ReadonlySet<string>>(new Set());
export const message = signal("");
/** Counts wishes to move the focus to the chosen cell of the result. */
export const focusWanted = signal(0);

export const step = computed<Step>(() => STEP.get(stepName.value) ?? STEPS[0]!);
export const place = computed(() => STEPS.findIndex(({ name }) => name === step.value.name));

const dark = matchMedia("(prefers-color-scheme: dark)");
export const systemDark = signal(dark.matches);
dark.addEventListener("change", (event) => (systemDark.value = event.matches));
export const isDark = computed(() => (theme.value ?? (systemDark.value ? "dark" : "light")) === "dark");

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

function address(): string {
  const { row, column } = cell.value;
  const parts = [`e=${content.name}`, `s=${step.value.name}`, `c=${row + 1},${column + 1}`];
  if (chosenLanguage.value) parts.push(`l=${language.value}`);
  if (theme.value) parts.push(`t=${theme.value}`);
  return `#/step?${parts.join("&")}`;
}

function readAddress(): void {
  const asked = new URLSearchParams(location.hash.replace(/^#\/step\?/, ""));
  const [row = 1, column = 1] = (asked.get("c") ?? "").split(",").map((part) => Number.parseInt(part, 10) || 1);
  const name = asked.get("s") ?? "";
  const [spoken, look] = [asked.get("l"), asked.get("t")];
  batch(() => {
    go(STEP.has(name) ? name : FIRST, { row: row - 1, column: column - 1 });
    chosenLanguage.value = spoken === "zh" || spoken === "en";
    if (spoken === "zh" || spoken === "en") language.value = spoken;
    theme.value = look === "light" || look === "dark" ? look : null;
  });
}

/** Follows the address, writes it, and sets what stands outside the page's own element. */
export function start(): void {
  readAddress();
  addEventListener("hashchange", readAddress);
  let shown = step.value.name;
  effect(() => {
    const now = address();
    if (now === location.hash) return;
    // Another step is an entry of the browser's history, another cell is not.
    if (step.value.name === shown) history.replaceState(null, "", now);
    else history.pushState(null, "", now);
    shown = step.value.name;
  });
  effect(() => {
    const root = document.documentElement;
    root.lang = language.value === "zh" ? "zh-CN" : "en";
    document.title = content.title[language.value];
    if (theme.value) root.dataset["theme"] = theme.value;
    else delete root.dataset["theme"];
  });
}
