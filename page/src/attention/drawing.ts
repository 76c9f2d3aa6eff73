// A map as a picture of its own: SVG with title, axes, labels and legend; the same as PNG, and the numbers as CSV.
import { escaped, width } from "../files/fields";
import { head, lettering, tableCsv } from "../files/table";
import type { Shown } from "./levels";

export interface Titles {
  readonly title: string;
  readonly rows: string;
  readonly columns: string;
  readonly scale: string;
}

const CELL = 28;
const BLUE = "#0068a3";

function legend(x: number, y: number, name: string): string {
  const steps = Array.from({ length: 11 }, (_, step) => `<rect x="${x + 16 * step}" y="${y}" width="16" height="12" fill="${BLUE}" fill-opacity="${step / 10}"/>`);
  const marks = [[0, "0"], [5, "0.5"], [10, "1"]] as const;
  const numbers = marks.map(([step, text]) => lettering(text, x + 16 * step + 8, y + 27, `text-anchor="middle" font-size="11"`));
  return `<g>${steps.join("")}<rect x="${x}" y="${y}" width="176" height="12" fill="none" stroke="#5b6270"/>${numbers.join("")}${lettering(name, x + 184, y + 10, `font-size="11"`)}</g>`;
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
    ...rows.map(({ label: text }, place) => lettering(text, left - 8, top + CELL * (place + 0.5) + 4, `text-anchor="end"`)),
    ...columns.map(({ label: text }, place) => {
      const [x, y] = [left + CELL * (place + 0.5) + 4, top - 8];
      return lettering(text, x, y, `transform="rotate(-55 ${x} ${y})"`);
    }),
  ];
  return [
    head(wide, bottom + 60),
    `<title>${escaped(titles.title)}</title><rect width="100%" height="100%" fill="#fbfaf7"/>`,
    lettering(titles.title, 20, 28, `font-size="16" font-weight="600"`),
    lettering(titles.columns, left, 50, `font-size="11"`),
    `<text transform="translate(18 ${(top + bottom) / 2}) rotate(-90)" text-anchor="middle" font-size="11" fill="#1d2126">${escaped(titles.rows)}</text>`,
    ...names, ...cells,
    `<rect x="${left}" y="${top}" width="${right - left}" height="${bottom - top}" fill="none" stroke="#5b6270"/>`,
    legend(left, bottom + 20, titles.scale),
    "</svg>",
  ].join("");
}

export function csvOf({ weights, rows, columns }: Shown): string {
  const names = (units: typeof rows): string[] => units.map(({ label: text }) => text);
  return tableCsv({ rows: names(rows), columns: names(columns), values: weights });
}
