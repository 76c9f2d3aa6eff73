// What is in view of the attention: kind, layer, heads together or one, what rows and columns are, and the chosen cell.
import { batch, computed, effect, signal } from "@preact/signals";
import { KINDS, layerOf, read, type Attention, type Kind, type WrittenAttention, type Weights } from "./data";
import { maximum, mean, rollout } from "./combine";
import { visible } from "../text/words";
import { LEVELS, joined, separated, unitsOf, withoutSymbols, type Level, type Shown, type Unit } from "./levels";

/** All heads of a layer as one map, or a head by its number. */
export const TOGETHER = ["mean", "maximum", "rollout", "flow"] as const;
export type Heads = (typeof TOGETHER)[number] | number;

export const attention = signal<Attention | null>(null);
export const languages = signal<readonly [string, string]>(["", ""]);
export const kind = signal<Kind>("cross");
export const layer = signal(0);
export const heads = signal<Heads>("mean");
export const level = signal<Level>("piece");
/** Source and translation with their words separated by the reader; empty: by the browser's dictionary. */
export const words = signal<readonly [string, string]>(["", ""]);
export const symbolsHidden = signal(false);
export const asLines = signal(false);
export const cell = signal<{ readonly row: number; readonly column: number }>({ row: 0, column: 0 });

/** The joined maps that there are: the flow was not always calculated. */
export const together = computed(() => TOGETHER.filter((name) => name !== "flow" || attention.value?.flow[kind.value]));

effect(() => {
  if (attention.value && heads.value === "flow" && !together.value.includes("flow")) heads.value = "mean";
});

/** Takes weights, and shows the last layer's attention to the source. */
export function take(written: WrittenAttention, from: string, to: string): void {
  const found = read(written);
  batch(() => {
    attention.value = found;
    languages.value = [from, to];
    const [source, translation] = words.value;
    words.value = [separated(found.source, source) ? source : "", separated(found.translation, translation) ? translation : ""];
    if (!layerOf(found, kind.value, layer.value)) layer.value = Math.max(...found.layers.filter((one) => one.kind === kind.value).map((one) => one.layer), 0);
    cell.value = { row: 0, column: 0 };
  });
}

function weightsOf(of: Attention): Weights {
  const found = layerOf(of, kind.value, layer.value);
  if (!found) return [];
  if (heads.value === "flow") return of.flow[kind.value] ?? [];
  if (heads.value === "rollout") return rollout(of, kind.value, layer.value);
  if (heads.value === "maximum") return maximum(found.heads);
  return heads.value === "mean" ? mean(found.heads) : (found.heads[heads.value] ?? []);
}

function sourceUnits(of: Attention): readonly Unit[] {
  return unitsOf(of.source, of.sourcePieces.map((piece) => ({ ...piece, label: piece.text })), level.value, languages.value[0], words.value[0]);
}

/** The decoder's positions by what they predict. */
function predictedUnits(of: Attention): readonly Unit[] {
  const pieces = of.targetPieces.map((piece) => ({ ...piece, label: piece.predicted }));
  const units = unitsOf(of.translation, pieces, level.value, languages.value[1], words.value[1]);
  if (level.value !== "piece") return units;
  return units.map((unit, place) => ({ ...unit, label: `${visible(of.targetPieces[place]?.input ?? "")} → ${unit.label}` }));
}

/** The decoder's positions by what they read: what was predicted one position before, and first the start symbol. */
function readUnits(of: Attention): readonly Unit[] {
  const symbol = { start: null, end: null, special: true };
  const pieces = of.targetPieces.map(({ input }, place) => ({ ...(of.targetPieces[place - 1] ?? symbol), label: input }));
  return unitsOf(of.translation, pieces, level.value, languages.value[1], words.value[1]);
}

export function shownOf(of: Attention): Shown {
  const rows = kind.value === "encoder" ? sourceUnits(of) : predictedUnits(of);
  const columns = kind.value === "decoder" ? readUnits(of) : sourceUnits(of);
  const all = { weights: joined(weightsOf(of), rows, columns), rows, columns, isRenormalised: false };
  return symbolsHidden.value ? withoutSymbols(all) : all;
}

export const shown = computed<Shown | null>(() => attention.value && shownOf(attention.value));

/** Whether a position of the decoder may not attend there: what is later was not read yet. */
export function isMasked(row: number, column: number): boolean {
  return kind.value === "decoder" && level.value === "piece" && !symbolsHidden.value && column > row;
}

export function choose(row: number, column: number): void {
  const { rows = [], columns = [] } = shown.value ?? {};
  const clamp = (value: number, size: number): number => Math.min(Math.max(0, value), Math.max(0, size - 1));
  cell.value = { row: clamp(row, rows.length), column: clamp(column, columns.length) };
}

export function parameters(): Record<string, string> {
  return {
    k: kind.value, y: String(layer.value), h: String(heads.value), v: level.value,
    ...(level.value === "word" && words.value[0] && { ws: words.value[0] }), ...(level.value === "word" && words.value[1] && { wt: words.value[1] }),
    ...(symbolsHidden.value && { x: "1" }), ...(asLines.value && { g: "1" }),
    c: `${cell.value.row + 1},${cell.value.column + 1}`,
  };
}

function isOneOf<T>(list: readonly T[], value: unknown): value is T {
  return (list as readonly unknown[]).includes(value);
}

export function follow(asked: URLSearchParams): void {
  const [k, h, v] = [asked.get("k"), asked.get("h"), asked.get("v")];
  const number = (text: string | null): number => Math.max(0, Number.parseInt(text ?? "", 10) || 0);
  batch(() => {
    if (isOneOf(KINDS, k)) kind.value = k;
    if (asked.has("y")) layer.value = number(asked.get("y"));
    if (h !== null) heads.value = isOneOf(TOGETHER, h) ? h : number(h);
    if (isOneOf(LEVELS, v)) level.value = v;
    words.value = [asked.get("ws") ?? "", asked.get("wt") ?? ""];
    symbolsHidden.value = asked.has("x");
    asLines.value = asked.has("g");
    const [row = 1, column = 1] = (asked.get("c") ?? "").split(",").map((part) => number(part) || 1);
    if (attention.value && !layerOf(attention.value, kind.value, layer.value)) layer.value = 0;
    choose(row - 1, column - 1);
  });
}
