// A chart of curves: where its lines, ticks and names lie, for the page and for a file.
import { escaped } from "../files/fields";
import type { Curve, Point } from "./data";

export const [WIDTH, HEIGHT] = [440, 280];
const [LEFT, RIGHT, TOP, BOTTOM] = [60, 26, 14, 44];
export const COLOURS = ["blue", "orange", "green", "violet", "ink"] as const;
const DASHES = ["", "7 3", "2 3", "9 3 2 3"] as const;
const PRINTED: Readonly<Record<(typeof COLOURS)[number], string>> = { blue: "#0068a3", orange: "#b34700", green: "#00705a", violet: "#6f4aa8", ink: "#1d2126" };
const TICKS = 5;

export interface Look {
  readonly colour: (typeof COLOURS)[number];
  readonly dash: string;
}

/** Twenty looks before one comes again. */
export function lookOf(place: number): Look {
  const [colours, dashes] = [COLOURS.length, DASHES.length];
  return { colour: COLOURS[place % colours] ?? "ink", dash: DASHES[Math.floor(place / colours) % dashes] ?? "" };
}

export interface Drawn {
  readonly curves: readonly { readonly name: string; readonly look: Look; readonly path: string; readonly raw: string; readonly band: string; readonly dots: readonly Point[] }[];
  readonly across: readonly Tick[];
  readonly up: readonly Tick[];
  readonly frame: { readonly left: number; readonly right: number; readonly top: number; readonly bottom: number };
}

interface Tick {
  readonly at: number;
  readonly text: string;
}

export interface Styled extends Curve {
  readonly look: Look;
  /** What lies beneath a smoothed curve. */
  readonly raw?: readonly Point[];
}

const MOST_DOTS = 60;
const EQUAL = 1e-9;
const START = { low: Infinity, high: -Infinity };

function range(values: readonly number[]): { low: number; high: number } {
  const { low, high } = values.reduce((all, one) => ({ low: Math.min(all.low, one), high: Math.max(all.high, one) }), START);
  if (low > high) return { low: 0, high: 1 };
  const size = Math.max(Math.abs(low), Math.abs(high));
  const slack = high - low <= EQUAL * size ? 0.1 * size || 1 : 0; // a smoothed level differs from itself by rounding
  return { low: low - slack, high: high + slack };
}

/** Round numbers between two values. */
export function ticksOf(low: number, high: number): number[] {
  const rough = (high - low) / TICKS;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((one) => one * power >= rough) ?? 10);
  const count = Math.floor(high / step) - Math.ceil(low / step) + 1;
  return Array.from({ length: count }, (_, place) => (Math.ceil(low / step) + place) * step);
}

/** Powers of ten between two positive values, and twice and five times them where there are few. */
function powersOf(low: number, high: number): number[] {
  const all = Array.from({ length: Math.ceil(Math.log10(high)) - Math.floor(Math.log10(low)) + 1 }, (_, place) => 10 ** (Math.floor(Math.log10(low)) + place));
  const finer = all.length > 3 ? all : all.flatMap((one) => [one, 2 * one, 5 * one]);
  return finer.filter((one) => one >= low * 0.999 && one <= high * 1.001);
}

export function numberText(value: number): string {
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e7)) return value.toExponential(1).replaceAll("-", "−").replace("e+", "e");
  return Number(value.toPrecision(12)).toLocaleString("en", { maximumFractionDigits: 5 }).replace("-", "−");
}

/** Where all lies; curves without a positive point have no logarithms, and are drawn as they are. */
export function drawn(curves: readonly Styled[], isLogarithmic: boolean): Drawn {
  const isPositive = ({ points }: Styled): boolean => points.some(([, y]) => y > 0);
  return placed(curves, isLogarithmic && curves.some(isPositive));
}

/** `isLogarithmic`: points that are not positive have no place. */
function placed(curves: readonly Styled[], isLogarithmic: boolean): Drawn {
  const up = (points: readonly Point[]): readonly Point[] => (isLogarithmic ? points.filter(([, y]) => y > 0) : points);
  const all = curves.flatMap(({ points, raw, band }) => [...up(points), ...up(raw ?? []), ...up((band ?? []).flatMap(([x, low, high]) => [[x, low], [x, high]] as const))]);
  const [xs, ys] = [range(all.map(([x]) => x)), range(all.map(([, y]) => y))];
  const level = isLogarithmic ? Math.log : (value: number): number => value;
  const frame = { left: LEFT, right: WIDTH - RIGHT, top: TOP, bottom: HEIGHT - BOTTOM };
  const placeX = (x: number): number => round(frame.left + ((x - xs.low) / (xs.high - xs.low)) * (frame.right - frame.left));
  const placeY = (y: number): number => round(frame.bottom - ((level(y) - level(ys.low)) / (level(ys.high) - level(ys.low))) * (frame.bottom - frame.top));
  const path = (points: readonly Point[]): string => up(points).map(([x, y], place) => `${place ? "L" : "M"}${placeX(x)} ${placeY(y)}`).join("");
  return {
    frame,
    curves: curves.map(({ name, look, points, raw, band = [] }) => ({
      name, look, path: path(points), raw: path(raw ?? []),
      band: band.length ? `${path(band.map(([x, , high]) => [x, high]))}${path([...band].reverse().map(([x, bottom]) => [x, bottom])).replace("M", "L")}Z` : "",
      dots: points.length <= MOST_DOTS && !raw ? up(points).map(([x, y]) => [placeX(x), placeY(y)]) : [],
    })),
    across: ticksOf(xs.low, xs.high).map((value) => ({ at: placeX(value), text: numberText(value) })),
    up: (isLogarithmic ? powersOf(ys.low, ys.high) : ticksOf(ys.low, ys.high)).map((value) => ({ at: placeY(value), text: numberText(value) })),
  };
}

const round = (value: number): number => Math.round(value * 100) / 100;

export interface Named {
  readonly title: string;
  readonly across: string;
  readonly up: string;
}

/** The chart as a file, with its title, both axes and a legend. */
export function svgOf({ curves, across, up, frame }: Drawn, { title, across: below, up: beside }: Named): string {
  const [head, row] = [52, 20];
  const high = HEIGHT + head + row * curves.length;
  const legend = curves.map(({ name, look }, place) => {
    const y = head + HEIGHT + row * place + 4;
    return `<path d="M${frame.left} ${y}h32" stroke="${PRINTED[look.colour]}" stroke-width="2" stroke-dasharray="${look.dash}"/><text x="${frame.left + 40}" y="${y + 4}">${escaped(name)}</text>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${high}" width="${WIDTH}" height="${high}" font-family="system-ui, PingFang SC, Microsoft YaHei, Noto Sans CJK SC, sans-serif" font-size="12" fill="#1d2126" role="img">`,
    `<title>${escaped(title)}</title><rect width="100%" height="100%" fill="#fbfaf7"/><text x="8" y="22" font-size="15" font-weight="600">${escaped(title)}</text><text x="8" y="42" fill="#5b6270">${escaped(beside)}</text>`,
    `<g transform="translate(0 ${head})">`,
    ...up.map(({ at, text }) => `<path d="M${frame.left} ${at}H${frame.right}" stroke="#d9d5ca"/><text x="${frame.left - 6}" y="${at + 4}" text-anchor="end">${text}</text>`),
    ...across.map(({ at, text }) => `<text x="${at}" y="${frame.bottom + 16}" text-anchor="middle">${text}</text>`),
    `<text x="${(frame.left + frame.right) / 2}" y="${frame.bottom + 34}" text-anchor="middle" fill="#5b6270">${escaped(below)}</text>`,
    ...curves.flatMap(({ look, path, raw, band, dots }) => [
      band && `<path d="${band}" fill="${PRINTED[look.colour]}" fill-opacity=".15"/>`,
      raw && `<path d="${raw}" fill="none" stroke="${PRINTED[look.colour]}" stroke-opacity=".3"/>`,
      `<path d="${path}" fill="none" stroke="${PRINTED[look.colour]}" stroke-width="2" stroke-dasharray="${look.dash}"/>`,
      ...dots.map(([x, y]) => `<circle cx="${x}" cy="${y}" r="2.5" fill="${PRINTED[look.colour]}"/>`),
    ]),
    "</g>", ...legend, "</svg>",
  ].filter(Boolean).join("\n");
}
