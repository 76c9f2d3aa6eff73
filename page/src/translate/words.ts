// Words of a line, how probable the model found each, and which words of the other line they come from.
import type { Explanation } from "../served/client";
import type { Word } from "../text/words";

export interface LinkedWord extends Word {
  /** Places of its pieces in the explanation. */
  readonly pieces: readonly number[];
  /** The product of its pieces' probabilities; undefined where the model gave none. */
  readonly probability: number | undefined;
  /** For each word of the source: the weights of its pieces summed, the mean over this word's pieces. */
  readonly weights: readonly number[];
}

/** Whether a piece belongs to a word: it covers one of its characters that is not white space. */
function touches([start, end]: readonly [number, number], word: Word): boolean {
  return word.text.trim() !== "" && Math.max(start, word.start) < Math.min(end, word.end);
}

function placesOf(word: Word, spans: readonly (readonly [number, number])[]): number[] {
  return spans.flatMap((span, place) => (touches(span, word) ? [place] : []));
}

/** The words of a translation with their pieces, probabilities and sources. */
export function linked(source: readonly Word[], target: readonly Word[], { alignment, log_probabilities }: Explanation): LinkedWord[] {
  const columns = source.map((word) => placesOf(word, alignment.source));
  return target.map((word) => {
    const pieces = placesOf(word, alignment.target);
    const logs = pieces.map((place) => log_probabilities[place]);
    const known = logs.length > 0 && logs.every((one) => one !== null && one !== undefined);
    const sum = (logs as number[]).reduce((total, one) => total + one, 0);
    const rows = pieces.map((place) => alignment.weights[place] ?? []);
    const weights = columns.map((places) => mean(rows.map((row) => places.reduce((total, place) => total + (row[place] ?? 0), 0))));
    return { ...word, pieces, probability: known ? Math.exp(sum) : undefined, weights };
  });
}

function mean(values: readonly number[]): number {
  return values.length ? values.reduce((total, one) => total + one, 0) / values.length : 0;
}

/** How sure the model was, in three steps that look different without colour. */
export function sureness(probability: number | undefined): "sure" | "less" | "doubtful" | "" {
  if (probability === undefined) return "";
  return probability >= 0.7 ? "sure" : probability >= 0.3 ? "less" : "doubtful";
}

/** The text before a word's first piece: what stays when another piece is chosen there. */
export function before(text: string, word: LinkedWord, { alignment }: Explanation): string {
  const [first] = word.pieces;
  const start = first === undefined ? word.start : (alignment.target[first]?.[0] ?? word.start);
  return Array.from(text).slice(0, start).join("");
}
