// A map as a picture of its own: SVG with title, axes, labels and legend; the same as PNG, and the numbers as CSV.
import { escaped, field, width } from "../files/fields";
import type { Shown } from "./levels";

export interface Titles {
  readonly title: string;
  readonly rows: string;
  readonly columns: string;
  readonly scale: string;
}

const [CELL, SIZE] = [28, 13];
const BLUE = "#0068a3";
function label(text: string, x: number, y: number, more: string): string {
  return `<text x="${x}" y="${y}" fill="#1d2126" ${more}>${escaped(text)}</text>`;
}

function legend(x: number, y: number, name: string): string {
  const steps = Array.from({ length: 11 }, (_, step) => `<rect x="${x + 16 * step}" y="${y}" width="16" height="12" fill="${BLUE}" fill-opacity="${step / 10}"/>`);
  const marks = [[0, "0"], [5, "0.5"], [10, "1"]] as const;
  const numbers = marks.map(([step, text]) => label(text, x + 16 * step + 8, y + 27, `text-anchor="middle" font-size="11"`));
  return `<g>${steps.join("")}<rect x="${x}" y="${y}" width="176" height="12" fill="none" stroke="#5b6270"/>${numbers.join("")}${label(name, x + 184, y + 10, `font-size="11"`)}</g>`;
}

export function svgOf({ weights, rows, columns }: Shown, titles: Titles): string {
  const left = Math.max(...rows.map(({ label: text }) => width(text)), 20) + 48;
  const top = Math.max(...columns.map(({ label: text }) => width(text)), 20) * 0.85 + 72;
  const [right, bottom] = [left + CELL * columns.length, top + CELL * rows.length];
  const wide = Math.max(right + 60, left + 300, width(titles.title) + 40);
  const cells = weights.flatMap((row, place) =>
    [...row].map((weight, column) =>
      `<rect x="${left + CELL * column}" y="${top + CELL * place}" width="${CELL}" height="${CELL}" fill="${BLUE}" fill-opacity="${weight.toFixed(4)}"><title>${escaped(`${rows[place]?.label} · ${columns[column]?.label}: ${weight.toFixed(4)}`)}</title></rect>`,
    ),
  );
  const names = [
    ...rows.map(({ label: text }, place) => label(text, left - 8, top + CELL * (place + 0.5) + 4, `text-anchor="end"`)),
    ...columns.map(({ label: text }, place) => {
      const [x, y] = [left + CELL * (place + 0.5) + 4, top - 8];
      return label(text, x, y, `transform="rotate(-55 ${x} ${y})"`);
    }),
  ];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${Math.ceil(wide)} ${Math.ceil(bottom + 60)}" width="${Math.ceil(wide)}" height="${Math.ceil(bottom + 60)}" font-family="system-ui, PingFang SC, Microsoft YaHei, Noto Sans CJK SC, sans-serif" font-size="${SIZE}" role="img">`,
    `<title>${escaped(titles.title)}</title><rect width="100%" height="100%" fill="#fbfaf7"/>`,
    label(titles.title, 20, 28, `font-size="16" font-weight="600"`),
    label(titles.columns, left, 50, `font-size="11"`),
    `<text transform="translate(18 ${(top + bottom) / 2}) rotate(-90)" text-anchor="middle" font-size="11" fill="#1d2126">${escaped(titles.rows)}</text>`,
    ...names, ...cells,
    `<rect x="${left}" y="${top}" width="${right - left}" height="${bottom - top}" fill="none" stroke="#5b6270"/>`,
    legend(left, bottom + 20, titles.scale),
    "</svg>",
  ].join("");
}

export function csvOf({ weights, rows, columns }: Shown): string {
  const head = ["", ...columns.map(({ label: text }) => field(text))].join(",");
  return `${[head, ...weights.map((row, place) => [field(rows[place]?.label ?? ""), ...row].join(","))].join("\r\n")}\r\n`;
}
