// Lines on their way: each line of the text is translated by itself, and one that was translated before is kept.
import { batch, signal, type Signal } from "@preact/signals";
import type { NextPiece, Translated } from "../served/client";
import { bundle, bundleName, bundles, client, sentenceOf } from "../served/state";

export interface Line {
  readonly source: string;
  /** What is found so far, or all of it. */
  readonly text: string;
  readonly translated: Translated | null;
  readonly problem: string;
  readonly prefix: string;
}

const PAUSE = 250; // milliseconds without a key before a changed text is sent
const TOGETHER = 4; // requests at a time
export const MOST_LINES = 200;
const MOST_KEPT = 2000;
const LONGEST_LINK = 500; // characters of a text that the address has

export const text = signal("");
export const best = signal(1);
/** The chosen word of the translation: its line and its place among the line's words. */
export const chosen = signal<{ readonly line: number; readonly word: number } | null>(null);
/** The word that is pointed at, on either side. */
export const pointed = signal<{ readonly line: number; readonly word: number; readonly side: "source" | "target" } | null>(null);
export const next = signal<readonly NextPiece[] | null>(null);
export const lines = signal<readonly Signal<Line>[]>([]);
export const isWorking = signal(false);

const kept = new Map<string, Line>();
let work: AbortController | null = null;
let timer = 0;

const key = (source: string, prefix: string): string => JSON.stringify([bundle.value?.name, best.value, source, prefix]);

function lineOf(source: string, prefix = ""): Line {
  const empty = { source, text: "", translated: null, problem: "", prefix };
  return source.trim() ? (kept.get(key(source, prefix)) ?? empty) : { ...empty, text: source };
}

/** Called when the text changed: sends it when no key was pressed for a moment. */
export function write(written: string): void {
  text.value = written;
  clearTimeout(timer);
  timer = window.setTimeout(() => void translate(), PAUSE);
}

/** Ends all requests. */
export function cancel(): void {
  clearTimeout(timer);
  work?.abort();
  isWorking.value = false;
}

/** Translates the lines that have not been translated; those under way are given up. */
export async function translate(): Promise<void> {
  cancel();
  const asking = (work = new AbortController());
  const prefixes = new Map(lines.peek().map((one) => [one.value.source, one.value.prefix]));
  const found = text.value.split("\n").slice(0, MOST_LINES).map((source) => signal(lineOf(source, prefixes.get(source))));
  batch(() => {
    lines.value = found;
    chosen.value = next.value = pointed.value = null;
  });
  const left = found.filter((one) => one.value.source.trim() && !one.value.translated);
  if (left.length === 0) return;
  isWorking.value = true;
  const worker = async (): Promise<void> => {
    for (let line = left.shift(); line && !asking.signal.aborted; line = left.shift()) await complete(line, asking.signal, left.length === 0);
  };
  await Promise.all(Array.from({ length: TOGETHER }, worker));
  if (work === asking) isWorking.value = false;
}

/** Shows the parts of a line as a greedy search finds them, then what the bundle's own search finds. */
async function complete(line: Signal<Line>, signal: AbortSignal, isShown: boolean): Promise<void> {
  const { source, prefix } = line.value;
  const asked = { bundle: bundle.value?.name ?? "", text: source, ...(prefix && { prefix }) };
  try {
    if (isShown) for await (const part of client.stream(asked, signal)) line.value = { ...line.value, text: line.value.text + part };
    const translated = await client.translate({ ...asked, best: best.value, explain: true }, signal);
    const done = { ...line.value, text: translated.text, translated, problem: translated.problem };
    keep(key(source, prefix), done);
    line.value = done;
  } catch (error) {
    if (!signal.aborted) line.value = { ...line.value, problem: sentenceOf(error) };
  }
}

function keep(name: string, line: Line): void {
  if (kept.size >= MOST_KEPT) kept.clear();
  kept.set(name, line);
}

/** Chooses a word of a translation, and lists what could stand in its place. */
export async function choose(line: number, word: number, piece: number | undefined): Promise<void> {
  chosen.value = { line, word };
  next.value = null;
  const of = lines.value[line]?.value;
  if (!of || piece === undefined) return;
  const asked = { bundle: bundle.value?.name ?? "", text: of.source, position: piece, best: 10, ...(of.prefix && { prefix: of.prefix }) };
  try {
    const found = await client.translate(asked, AbortSignal.timeout(30_000));
    if (chosen.value?.line === line && chosen.value.word === word) next.value = found.next_pieces;
  } catch (error) {
    const at = lines.value[line];
    if (at) at.value = { ...at.value, problem: sentenceOf(error) };
  }
}

/** The line's translation must begin so; the model writes the rest. */
export async function continueFrom(line: number, prefix: string): Promise<void> {
  const at = lines.value[line];
  if (!at) return;
  batch(() => {
    at.value = { ...lineOf(at.value.source, prefix) };
    chosen.value = next.value = null;
  });
  if (!at.value.translated) {
    isWorking.value = true;
    await complete(at, AbortSignal.timeout(60_000), true);
    isWorking.value = false;
  }
}

export function parameters(): Record<string, string> {
  return {
    ...(bundles.value.length > 1 && { b: bundle.value?.name ?? "" }),
    ...(text.value && text.value.length <= LONGEST_LINK && { q: text.value }),
  };
}

export function follow(asked: URLSearchParams): void {
  const [name, written] = [asked.get("b"), asked.get("q")];
  bundleName.value = name ?? "";
  if (written !== null && written !== text.value) write(written);
}

/** The first line that was translated, or is written: what other screens begin with. */
export function firstLine(): string {
  return lines.value.find((line) => line.value.source.trim())?.value.source ?? text.value.split("\n")[0] ?? "";
}
