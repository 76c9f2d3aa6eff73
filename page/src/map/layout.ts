// Where the boxes of the figure stand: a column for each side from below to above, with what this model lacks in its place.
import type { Box, ModelMap, Side } from "./content";

export interface Place {
  readonly slot: string;
  readonly role: string;
  readonly side: Side;
  /** None where this model lacks the box. */
  readonly box?: Box;
  readonly x: number;
  readonly y: number;
}

export interface Frame {
  readonly side: Side;
  readonly x: number;
  readonly y: number;
  readonly height: number;
  readonly copies: number;
}

export interface Figure {
  readonly width: number;
  readonly height: number;
  readonly places: readonly Place[];
  readonly frames: readonly Frame[];
}

export const BOX = { width: 148, height: 32 } as const;
export const STEP = 48;
const EDGE = 30;
const BETWEEN = 36;
const FOOT = 48;
const HEAD = 34;
export const FRAME = 17; // around the boxes of a layer, on each side
export const COLUMN: Readonly<Record<Side, number>> = { source: EDGE + FRAME, target: EDGE + FRAME + BOX.width + 2 * FRAME + BETWEEN };
export const WIDTH = COLUMN.target + BOX.width + FRAME + EDGE;
export const SIDES: readonly Side[] = ["source", "target"];

type Entry = Omit<Place, "x" | "y">;

/** The model's boxes of a side, and in their places those of the reference that it has nowhere. */
export function column(of: ModelMap, reference: ModelMap, side: Side): readonly Entry[] {
  const found: Entry[] = of.boxes.filter((box) => box.side === side).map((box) => ({ slot: box.slot, role: box.role, side, box }));
  const has = ({ slot, role }: Box): boolean =>
    of.boxes.some((box) => box.slot === slot || (role === "cross-attention" && box.role === role && box.side === side));
  let before = -1;
  for (const one of reference.boxes.filter((box) => box.side === side)) {
    if (!has(one)) found.splice((before += 1), 0, { slot: one.slot, role: one.role, side });
    else before = Math.max(before, found.findIndex(({ slot }) => slot === one.slot));
  }
  return found;
}

/** Boxes of other kinds that stand where the reference has one of its own: this model's, then the reference's. */
export function replacing(of: ModelMap, reference: ModelMap): readonly (readonly [Box, Box])[] {
  return of.boxes.flatMap((box) => {
    const other = reference.boxes.find(({ slot }) => slot === box.slot);
    return other && other.role !== box.role && !box.slot.endsWith(".add") ? [[box, other] as const] : [];
  });
}

export function figure(of: ModelMap, reference: ModelMap): Figure {
  const columns = SIDES.map((side) => column(of, reference, side));
  const height = HEAD + FOOT + STEP * Math.max(...columns.map((one) => one.length));
  const places = columns.flatMap((entries) => entries.map((one, number) => ({
    ...one, x: COLUMN[one.side], y: height - FOOT - STEP * number - BOX.height,
  })));
  return { width: WIDTH, height, places, frames: framesOf(places) };
}

function framesOf(places: readonly Place[]): readonly Frame[] {
  const stacks = [...new Set(places.flatMap(({ side, box }) => (box?.stack ? [`${side} ${box.stack}`] : [])))];
  return stacks.flatMap((stack) => {
    const inside = places.filter(({ side, box }) => box?.stack && `${side} ${box.stack}` === stack);
    const [first] = inside;
    if (!first) return [];
    const [top, bottom] = [Math.min(...inside.map(({ y }) => y)), Math.max(...inside.map(({ y }) => y))];
    // Room below for the start of the residual connection.
    return [{ side: first.side, x: first.x - FRAME, y: top - 7, height: bottom - top + BOX.height + 7 + 13, copies: first.box?.copies ?? 1 }];
  });
}

/** For each sum of a residual connection: where it branches off, below the sub-layer or its norm. */
export function residuals({ places }: Figure): readonly { readonly from: Place; readonly to: Place }[] {
  return places.flatMap((to) => {
    if (!to.box || !to.slot.endsWith(".add") || to.role === "norm") return [];
    const sublayer = to.slot.slice(0, -".add".length);
    const inside = places.filter(({ slot, box }) => box && (slot === sublayer || slot === `${sublayer}.norm`));
    const from = inside.find(({ slot }) => slot.endsWith(".norm")) ?? inside[0];
    return from ? [{ from, to }] : [];
  });
}

/** The boxes in which the target attends to the source, and the last box of the source, whose vectors they read. */
export function crossings({ places }: Figure): { readonly memory: Place; readonly to: readonly Place[] } | null {
  const to = places.filter(({ role, side, box }) => box && side === "target" && role === "cross-attention");
  const memory = places.filter(({ side, box }) => box && side === "source").at(-1);
  return memory && to.length > 0 ? { memory, to } : null;
}

const PARALLEL = "backwards";

/** Pairs of boxes one above the other, the lower one first; boxes that read the same are no pair. */
export function flows({ places }: Figure): readonly (readonly [Place, Place])[] {
  return SIDES.flatMap((side) => {
    const own = places.filter((one) => one.side === side && one.box);
    return own.flatMap((upper, number) => {
      const lower = own[number - 1];
      return lower && upper.box?.stack !== PARALLEL ? [[lower, upper] as const] : [];
    });
  });
}

export type Move = "up" | "down" | "left" | "right";

/** The box that an arrow key leads to: the next one of the column, or the nearest of the other. */
export function neighbour({ places }: Figure, slot: string, move: Move): string {
  const own = places.filter(({ box }) => box);
  const here = own.find((one) => one.slot === slot);
  if (!here) return own[0]?.slot ?? slot;
  const wanted = own.filter((one) => (move === "up" || move === "down" ? one.side === here.side : one.side === (move === "left" ? "source" : "target")));
  if (move === "left" || move === "right") {
    if (here.side === (move === "left" ? "source" : "target")) return slot;
    return [...wanted].sort((a, b) => Math.abs(a.y - here.y) - Math.abs(b.y - here.y))[0]?.slot ?? slot;
  }
  return wanted[wanted.indexOf(here) + (move === "up" ? 1 : -1)]?.slot ?? slot;
}
