// Pieces joined into words or cut into characters: weights to what is joined are summed, those of what is joined averaged.
import { visible, wordsOf } from "../text/words";
import type { Weights } from "./data";

export type Level = "piece" | "word" | "character";
export const LEVELS: readonly Level[] = ["piece", "word", "character"];

/** A row or a column: its label, and how much of each piece it has (1: all of it). */
export interface Unit {
  readonly label: string;
  readonly special: boolean;
  readonly pieces: readonly { readonly place: number; readonly share: number }[];
}

interface Piece {
  readonly label: string;
  readonly start: number | null;
  readonly end: number | null;
  readonly special: boolean;
}

function whole(place: number, { label, special }: Piece): Unit {
  return { label: visible(label), special, pieces: [{ place, share: 1 }] };
}

export interface Part {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** How much of a span a part has: its characters that are not white space, as a share of the span's. */
function share(characters: readonly string[], start: number, end: number, part: Part): number {
  const count = (from: number, to: number): number => characters.slice(from, to).filter((one) => one.trim() !== "").length;
  const all = count(start, end);
  return all === 0 ? 0 : count(Math.max(start, part.start), Math.min(end, part.end)) / all;
}

const withoutSpace = (text: string): string => text.replace(/\s/gu, "");

/** The words of a text as a reader separated them by spaces; null where these are not the text's own characters. */
export function separated(text: string, written: string): Part[] | null {
  if (withoutSpace(text) !== withoutSpace(written)) return null;
  const characters = Array.from(text);
  const skip = (place: number): number => (characters[place]?.trim() === "" ? skip(place + 1) : place);
  let end = 0;
  return written.split(/\s+/u).filter(Boolean).map((word) => {
    const start = skip(end);
    end = Array.from(word).reduce((place) => skip(place) + 1, start);
    return { text: word, start, end };
  });
}

/** The words of a text, separated by spaces: what a reader begins with who separates them otherwise. */
export function spaced(text: string, language: string): string {
  return partsOf(text, "word", language).map(({ text: word }) => word).join(" ");
}

function partsOf(text: string, level: Level, language: string, written = ""): Part[] {
  if (level === "word") return (written && separated(text, written)) || wordsOf(text, language).filter(({ text: word }) => word.trim() !== "");
  const characters = Array.from(text);
  return characters.flatMap((one, start) => (one.trim() === "" ? [] : [{ text: one, start, end: start + 1 }]));
}

/** The units of a text in order; symbols stay units of their own. Pieces of several parts are shared among them.
 * `written`: the text with its words separated by spaces, where a reader did that. */
export function unitsOf(text: string, pieces: readonly Piece[], level: Level, language: string, written = ""): readonly Unit[] {
  if (level === "piece") return pieces.map((piece, place) => whole(place, piece));
  const characters = Array.from(text);
  const found = partsOf(text, level, language, written).map((part) => ({
    start: part.start,
    label: part.text,
    special: false,
    pieces: pieces.flatMap(({ start, end, special }, place) => {
      if (special || start === null || end === null) return [];
      const of = share(characters, start, end, part);
      return of > 0 ? [{ place, share: of }] : [];
    }),
  }));
  const symbols = pieces.map((piece, place) => [piece, place] as const).filter(([{ special, start }]) => special || start === null);
  const before = symbols.filter(([, place]) => place === 0 && pieces.length > 1);
  const after = symbols.filter((one) => !before.includes(one));
  const units = (some: typeof symbols): Unit[] => some.map(([piece, place]) => whole(place, piece));
  // A piece of white space alone is in no part, and stays by itself, so that no weight is lost.
  const placed = new Set(found.flatMap(({ pieces: of }) => of.map(({ place }) => place)));
  const blank = pieces.flatMap((piece, place) => (piece.special || piece.start === null || placed.has(place) ? [] : [{ start: piece.start, ...whole(place, piece) }]));
  const within = [...found.filter(({ pieces: of }) => of.length > 0), ...blank].sort((one, other) => one.start - other.start);
  return [...units(before), ...within.map(({ label, special, pieces: of }) => ({ label, special, pieces: of })), ...units(after)];
}

/** The map of units: a weight is summed over a column's pieces and averaged over a row's. */
export function joined(weights: Weights, rows: readonly Unit[], columns: readonly Unit[]): Weights {
  return rows.map(({ pieces: own }) => {
    const total = own.reduce((sum, { share: part }) => sum + part, 0) || 1;
    return Float64Array.from(columns, ({ pieces }) =>
      own.reduce((sum, row) => sum + row.share * pieces.reduce((part, column) => part + column.share * (weights[row.place]?.[column.place] ?? 0), 0), 0) / total,
    );
  });
}

export interface Shown {
  readonly weights: Weights;
  readonly rows: readonly Unit[];
  readonly columns: readonly Unit[];
  /** Rows were divided by what is left of them, so that they add up to 1 again. */
  readonly isRenormalised: boolean;
}

/** Leaves out symbols, and divides each row by what is left of it. */
export function withoutSymbols({ weights, rows, columns }: Shown): Shown {
  const [up, across] = [rows, columns].map((units) => units.flatMap(({ special }, place) => (special ? [] : [place]))) as [number[], number[]];
  const kept = up.map((row) => {
    const left = Float64Array.from(across, (column) => weights[row]?.[column] ?? 0);
    const sum = left.reduce((total, one) => total + one, 0);
    return sum > 0 ? left.map((one) => one / sum) : left;
  });
  const pick = (units: readonly Unit[], places: readonly number[]): Unit[] => places.flatMap((place) => units[place] ?? []);
  return { weights: kept, rows: pick(rows, up), columns: pick(columns, across), isRenormalised: across.length < columns.length };
}
