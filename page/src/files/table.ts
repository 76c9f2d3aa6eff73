// A matrix of numbers as files: SVG with title, axes, numbers and colours that its legend explains; CSV.
import { escaped, field, width } from "./fields";

export interface Table {
  readonly title: string;
  readonly rows: readonly string[];
  readonly columns: readonly string[];
  /** By row and column. */
  readonly values: readonly ArrayLike<number>[];
  /** What a cell says. */
  readonly text: (row: number, column: number) => string;
  /** Numbers from 0 to 1 have a scale of that length; others one that is symmetric about 0. */
  readonly areShares: boolean;
}

const [HIGH, LEAST, TOP] = [28, 56, 96];
const [BLUE, ORANGE, INK, MUTED] = ["#0068a3", "#b34700", "#1d2126", "#5b6270"];
const FULL = 0.42; // of the colour behind the largest value: the number on it stays readable
const FAMILY = "system-ui, PingFang SC, Microsoft YaHei, Noto Sans CJK SC, sans-serif";
/** The beginning of a drawing of so many pixels. */
export const head = (wide: number, high: number): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${Math.ceil(wide)} ${Math.ceil(high)}" width="${Math.ceil(wide)}" height="${Math.ceil(high)}" font-family="${FAMILY}" font-size="13" role="img">`;

export function lettering(text: string, x: number, y: number, more = ""): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" fill="${INK}" ${more}>${escaped(text)}</text>`;
}

function legend(x: number, y: number, most: number, areShares: boolean): string {
  const marks = areShares ? [0, 0.5, 1] : [-most, 0, most];
  const steps = Array.from({ length: 11 }, (_, step) => {
    const share = areShares ? step / 10 : step / 5 - 1;
    return `<rect x="${x + 16 * step}" y="${y}" width="16" height="12" fill="${share < 0 ? ORANGE : BLUE}" fill-opacity="${(FULL * Math.abs(share)).toFixed(3)}"/>`;
  });
  const numbers = marks.map((mark, place) => lettering(Number(mark.toPrecision(3)).toString().replace("-", "−"), x + 80 * place + 8, y + 27, 'text-anchor="middle" font-size="11"'));
  return `<g>${steps.join("")}<rect x="${x}" y="${y}" width="176" height="12" fill="none" stroke="${MUTED}"/>${numbers.join("")}</g>`;
}

export function tableSvg({ title, rows, columns, values, text, areShares }: Table): string {
  const all = values.flatMap((row) => Array.from(row)).filter(Number.isFinite).map(Math.abs);
  const most = areShares ? 1 : Math.max(...all, 1e-12);
  const cells = rows.map((_, row) => columns.map((_, column) => text(row, column)));
  const each = Math.max(LEAST, ...[...columns, ...cells.flat()].map((one) => width(one) * 0.9 + 12));
  const left = Math.max(20, ...rows.map(width)) + 28;
  const [right, bottom] = [left + each * columns.length, TOP + HIGH * rows.length];
  const drawn = cells.flatMap((row, y) => row.map((said, x) => {
    const value = values[y]?.[x] ?? NaN;
    const share = Number.isFinite(value) ? Math.min(1, Math.abs(value) / most) : 0;
    const place = `x="${(left + each * x).toFixed(1)}" y="${TOP + HIGH * y}"`;
    return `<rect ${place} width="${each.toFixed(1)}" height="${HIGH}" fill="${value < 0 ? ORANGE : BLUE}" fill-opacity="${(FULL * share).toFixed(3)}" stroke="${MUTED}" stroke-opacity="0.3"/>${lettering(said, left + each * (x + 0.5), TOP + HIGH * y + 19, 'text-anchor="middle"')}`;
  }));
  return [
    head(Math.max(right + 24, left + 220, width(title) * 1.2 + 40), bottom + 64),
    `<title>${escaped(title)}</title><rect width="100%" height="100%" fill="#fbfaf7"/>`,
    lettering(title, 20, 30, 'font-size="16" font-weight="600"'),
    ...columns.map((name, x) => lettering(name, left + each * (x + 0.5), TOP - 10, 'text-anchor="middle"')),
    ...rows.map((name, y) => lettering(name, left - 8, TOP + HIGH * y + 19, 'text-anchor="end"')),
    ...drawn, legend(left, bottom + 20, most, areShares), "</svg>",
  ].join("");
}

/** All numbers, with the names of their rows and columns. */
export function tableCsv({ rows, columns, values }: Pick<Table, "rows" | "columns" | "values">): string {
  const first = ["", ...columns.map(field)].join(",");
  return `${[first, ...values.map((row, place) => [field(rows[place] ?? ""), ...Array.from(row)].join(","))].join("\r\n")}\r\n`;
}
