// The attention weights of one sentence and its translation, as Python writes them.
export type Kind = "encoder" | "decoder" | "cross";
export const KINDS: readonly Kind[] = ["encoder", "decoder", "cross"];

interface Place {
  /** Characters (code points) of the text that it stands for; null for a symbol. */
  readonly start: number | null;
  readonly end: number | null;
  readonly special: boolean;
}

export interface SourcePiece extends Place {
  readonly text: string;
}

/** A position of the decoder: the piece that it reads, and the one that it predicts there. */
export interface TargetPiece extends Place {
  readonly input: string;
  readonly predicted: string;
  readonly logProbability: number | null;
}

/** Which pieces of the source a translation comes from, by one method. */
export interface Method {
  readonly method: string;
  readonly scores: readonly number[];
}

/** The log-probability of the translation, in nats, while pieces are taken away in a method's order. */
export interface Curve {
  readonly method: string;
  readonly logProbabilities: readonly number[];
  /** The mean of the curve: the smaller, the better the order says what the translation comes from. */
  readonly area: number;
}

export interface WrittenAttention {
  readonly source: string;
  readonly translation: string;
  readonly sourcePieces: readonly SourcePiece[];
  readonly targetPieces: readonly TargetPiece[];
  /** Weights of all heads of a layer (heads, rows, columns), as base64 of little-endian 16-bit shares of 65,535. */
  readonly maps: readonly { readonly kind: Kind; readonly layer: number; readonly heads: number; readonly rows: number; readonly columns: number; readonly weights: string }[];
  readonly attributions?: { readonly methods: readonly Method[] } | null;
  readonly deletion?: { readonly curves: readonly Curve[] } | null;
  /** The translation without a head. */
  readonly without?: { readonly head: string; readonly translation: string } | null;
}

/** Weights by row and column; each row is what one position attends to. */
export type Weights = readonly Float64Array[];

export interface Layer {
  readonly kind: Kind;
  readonly layer: number;
  readonly heads: readonly Weights[];
}

export interface Attention extends Omit<WrittenAttention, "maps"> {
  readonly layers: readonly Layer[];
}

const FULL = 65_535;

function shares(base64: string): Uint16Array {
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  return Uint16Array.from({ length: bytes.length / 2 }, (_, place) => view.getUint16(2 * place, true));
}

export function read({ maps, ...rest }: WrittenAttention): Attention {
  const layers = maps.map(({ kind, layer, heads, rows, columns, weights }) => {
    const all = shares(weights);
    if (all.length !== heads * rows * columns) throw new RangeError(`${kind} ${layer}: ${all.length} weights`);
    const row = (place: number): Float64Array => Float64Array.from(all.subarray(place * columns, (place + 1) * columns), (share) => share / FULL);
    return { kind, layer, heads: Array.from({ length: heads }, (_, head) => Array.from({ length: rows }, (_, place) => row(head * rows + place))) };
  });
  return { ...rest, layers };
}

export function layerOf(attention: Attention, kind: Kind, layer: number): Layer | undefined {
  return attention.layers.find((one) => one.kind === kind && one.layer === layer);
}
