// The attention weights of one sentence and its translation, as Python writes them.
import type { Picture } from "../picture/Over";

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

/** What a head does on average; before, same and after are the mean weights at offsets -1, 0 and +1. */
export interface Facts {
  readonly kind: Kind;
  readonly layer: number;
  readonly head: number;
  /** Of a row, in nats. */
  readonly entropy: number;
  /** In positions. */
  readonly distance: number;
  readonly before: number;
  readonly same: number;
  readonly after: number;
  readonly largest: number;
}

/** Weights (rows, columns) as base64 of little-endian 16-bit shares of 65,535. */
export interface WrittenMatrix {
  readonly rows: number;
  readonly columns: number;
  readonly weights: string;
}

/** The spectrogram from 0 to 1 by band, the lowest first, and row of time; a position of the encoder lasts `seconds`. */
export interface WrittenSound {
  readonly spectrogram: WrittenMatrix;
  readonly positions: number;
  readonly seconds: number;
}

/** A picture of so many rows and columns of patches, the encoder's first positions. */
export interface WrittenPicture extends Picture {
  readonly rows: number;
  readonly columns: number;
}

export interface WrittenAttention {
  readonly source: string;
  readonly translation: string;
  readonly sourcePieces: readonly SourcePiece[];
  readonly targetPieces: readonly TargetPiece[];
  /** Weights of all heads of a layer (heads, rows, columns). */
  readonly maps: readonly (WrittenMatrix & { readonly kind: Kind; readonly layer: number; readonly heads: number })[];
  /** The source, where it is a sound or a picture. */
  readonly sound?: WrittenSound;
  readonly picture?: WrittenPicture;
  readonly facts: readonly Facts[];
  /** The maximum flow through all layers to each piece of the source, where it was calculated. */
  readonly through_layers?: { readonly flow: { readonly encoder: WrittenMatrix | null; readonly cross: WrittenMatrix | null } } | null;
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

export interface Attention extends Omit<WrittenAttention, "maps" | "through_layers"> {
  readonly layers: readonly Layer[];
  readonly flow: { readonly [kind in Kind]?: Weights };
}

const FULL = 65_535;

function shares(base64: string): Uint16Array {
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  return Uint16Array.from({ length: bytes.length / 2 }, (_, place) => view.getUint16(2 * place, true));
}

export function rowsOf({ rows, columns, weights }: WrittenMatrix, matrices = 1): Weights[] {
  const all = shares(weights);
  if (all.length !== matrices * rows * columns) throw new RangeError(`${all.length} weights of ${matrices} x ${rows} x ${columns}`);
  const row = (place: number): Float64Array => Float64Array.from(all.subarray(place * columns, (place + 1) * columns), (share) => share / FULL);
  return Array.from({ length: matrices }, (_, matrix) => Array.from({ length: rows }, (_, place) => row(matrix * rows + place)));
}

export function read({ maps, through_layers: through, ...rest }: WrittenAttention): Attention {
  const { encoder, cross } = through?.flow ?? {};
  const flow = { ...(encoder && { encoder: rowsOf(encoder)[0] ?? [] }), ...(cross && { cross: rowsOf(cross)[0] ?? [] }) };
  const layers = maps.map((map) => ({ kind: map.kind, layer: map.layer, heads: rowsOf(map, map.heads) }));
  return { ...rest, layers, flow };
}

export function layerOf(attention: Attention, kind: Kind, layer: number): Layer | undefined {
  return attention.layers.find((one) => one.kind === kind && one.layer === layer);
}
