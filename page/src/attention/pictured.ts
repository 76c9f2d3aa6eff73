// The attention to a sound or a picture as SVG: the strips under the spectrogram, or the pictures with their patches.
import { head, lettering } from "../files/table";
import { escaped, width } from "../files/fields";
import { peakOf, scaled } from "./along";
import { rowsOf, type WrittenPicture, type WrittenSound } from "./data";
import { paint } from "./HeatMap";
import type { Shown } from "./levels";

interface Named {
  readonly title: string;
  /** What the shades are. */
  readonly scale: string;
}

const quoted = (text: string): string => `"${text}"`;

type Colour = readonly [number, number, number];
const [INK, BLUE]: readonly Colour[] = [[29, 33, 38], [0, 104, 163]];
const [LONG, HIGH, STRIP, TOP, TICKS] = [800, 160, 24, 60, 4];
const [SIDE, ACROSS, DARKEST] = [160, 5, 0.75];

function image(rows: readonly ArrayLike<number>[], colour: Colour, x: number, y: number, wide: number, high: number): string {
  const canvas = document.createElement("canvas");
  paint(canvas, rows, colour);
  const frame = `x="${x}" y="${y}" width="${wide}" height="${high}"`;
  return `<image ${frame} href=${quoted(canvas.toDataURL())} preserveAspectRatio="none" style="image-rendering: pixelated"/><rect ${frame} fill="none" stroke="#5b6270" stroke-opacity="0.4"/>`;
}

function framed(wide: number, high: number, { title, scale }: Named, drawn: readonly string[]): string {
  return [
    head(Math.max(wide, width(title) * 1.2 + 40, width(scale) * 0.85 + 40), high),
    `<title>${escaped(title)}</title><rect width="100%" height="100%" fill="#fbfaf7"/>`,
    lettering(title, 20, 30, 'font-size="16" font-weight="600"'), ...drawn, lettering(scale, 20, high - 14, 'font-size="11"'), "</svg>",
  ].join("");
}

export function soundSvg({ weights, rows }: Shown, sound: WrittenSound, named: Named): string {
  const left = Math.max(20, ...rows.map(({ label }) => width(label))) + 32;
  const [first, end] = [TOP + HIGH + 32, sound.seconds * sound.positions];
  const times = Array.from({ length: TICKS + 1 }, (_, tick) => {
    const time = `${((end * tick) / TICKS).toFixed(2)} s`;
    return lettering(time, left + (LONG * tick) / TICKS, TOP + HIGH + 18, `text-anchor="${tick === 0 ? "start" : tick === TICKS ? "end" : "middle"}" font-size="11"`);
  });
  const strips = rows.flatMap(({ label }, row) => {
    const y = first + (STRIP + 4) * row;
    return [lettering(label, left - 8, y + 17, 'text-anchor="end"'), image([scaled(weights[row] ?? new Float64Array(), sound.positions)], BLUE!, left, y, LONG, STRIP)];
  });
  const bands = (rowsOf(sound.spectrogram)[0] ?? []).slice().reverse();
  return framed(left + LONG + 24, first + (STRIP + 4) * rows.length + 40, named, [image(bands, INK!, left, TOP, LONG, HIGH), ...times, ...strips]);
}

export function pictureSvg({ weights, rows }: Shown, picture: WrittenPicture, named: Named): string {
  const scale = SIDE / Math.max(picture.width, picture.height);
  const [wide, high] = [picture.width * scale, picture.height * scale];
  const positions = picture.rows * picture.columns;
  const drawn = rows.flatMap(({ label }, row) => {
    const [x, y] = [24 + (row % ACROSS) * (SIDE + 24), TOP + Math.floor(row / ACROSS) * (high + 40)];
    const values = scaled(weights[row] ?? new Float64Array(), positions);
    const patch = (value: number, place: number): string =>
      `<rect x="${place % picture.columns}" y="${Math.floor(place / picture.columns)}" width="1" height="1" fill="#b34700" fill-opacity="${(DARKEST * value).toFixed(3)}"/>`;
    return [
      `<svg x="${x}" y="${y}" width="${wide}" height="${high}" viewBox="0 0 ${picture.columns} ${picture.rows}" preserveAspectRatio="none">`,
      `<image href=${quoted(escaped(picture.url))} width="${picture.columns}" height="${picture.rows}" preserveAspectRatio="none" style="image-rendering: pixelated"/>`,
      ...Array.from(values, patch), "</svg>",
      lettering(`${label}  ${peakOf(weights[row] ?? [], positions).weight.toFixed(4)}`, x, y + high + 16, 'font-size="11"'),
    ];
  });
  const lines = Math.ceil(rows.length / ACROSS);
  return framed(24 + Math.min(rows.length, ACROSS) * (SIDE + 24), TOP + lines * (high + 40) + 28, named, drawn);
}
