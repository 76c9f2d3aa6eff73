// Words of a text, and text whose white space shows.
/** `start` and `end` count characters (code points), as Python does. */
export interface Word {
  readonly text: string;
  readonly start: number;
  readonly end: number;
  /** Whether it is a word, and not white space or punctuation. */
  readonly isWord: boolean;
}

/** The words of a text, with what stands between them, in order; Chinese words by the browser's dictionary. */
export function wordsOf(text: string, language: string): Word[] {
  const found: Word[] = [];
  let end = 0;
  for (const { segment, isWordLike } of segmenter(language).segment(text)) {
    const start = end;
    end += Array.from(segment).length;
    found.push({ text: segment, start, end, isWord: isWordLike ?? false });
  }
  return found;
}

function segmenter(language: string): Intl.Segmenter {
  try {
    return new Intl.Segmenter(language || undefined, { granularity: "word" });
  } catch {
    return new Intl.Segmenter(undefined, { granularity: "word" }); // a bundle may call its language as it likes
  }
}

const BYTES = /^⟨[0-9A-F]{2}( [0-9A-F]{2})*⟩$/; // a piece that is a part of a character

/** A piece's spaces shown, so that " the" is "␣the". */
export function visible(text: string): string {
  if (BYTES.test(text)) return text;
  return text.replaceAll(" ", "␣").replaceAll("\u3000", "␣").replaceAll("\t", "⇥").replaceAll("\n", "⏎") || "∅";
}
