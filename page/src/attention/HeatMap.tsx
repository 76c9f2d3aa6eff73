// The chosen map: a table with one tab stop while it has not too many cells, a drawing with the chosen cell in words beyond.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../shell/texts";
import type { Shown } from "./levels";
import { cell, choose, isMasked } from "./state";

const MOST_CELLS = 2500;
const FULL = 42; // per cent of the colour behind a weight of 1: the number on it stays readable in both themes
const MOVES: Readonly<Record<string, readonly [number, number]>> = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/** ".53": a weight fits a cell. */
export function brief(weight: number): string {
  if (weight >= 0.995) return "1";
  return weight < 0.005 ? "" : weight.toFixed(2).replace(/^0/, "");
}

/** Moves the chosen cell by an arrow key. */
export function moveBy(event: KeyboardEvent): void {
  const by = MOVES[event.key];
  if (!by) return;
  event.preventDefault();
  choose(cell.value.row + by[0], cell.value.column + by[1]);
}

export function spokenCell({ weights, rows, columns }: Shown): string {
  const { row, column } = cell.value;
  if (isMasked(row, column)) return t("attention.maskedCell", { row: rows[row]?.label ?? "", column: columns[column]?.label ?? "" });
  return t("attention.cell", { row: rows[row]?.label ?? "", column: columns[column]?.label ?? "", weight: (weights[row]?.[column] ?? 0).toFixed(4) });
}

function Table({ weights, rows, columns }: Shown): JSX.Element {
  const table = useRef<HTMLTableElement>(null);
  const onKey = (event: KeyboardEvent): void => {
    moveBy(event);
    requestAnimationFrame(() => table.current?.querySelector<HTMLElement>("td[tabindex='0']")?.focus());
  };
  return (
    <div class="scroll">
      <table class="heat" role="grid" ref={table} aria-label={t("attention.map")} onKeyDown={onKey}>
        <thead><tr><td />{columns.map(({ label }, place) => <th key={place} scope="col"><span><bdi>{label}</bdi></span></th>)}</tr></thead>
        <tbody>
          {rows.map(({ label }, row) => (
            <tr key={row}>
              <th scope="row"><bdi>{label}</bdi></th>
              {columns.map((_, column) => {
                const weight = weights[row]?.[column] ?? 0;
                const isChosen = cell.value.row === row && cell.value.column === column;
                const masked = isMasked(row, column);
                return (
                  <td key={column} role="gridcell" tabIndex={isChosen ? 0 : -1} class={`${isChosen ? "chosen" : ""} ${masked ? "masked" : ""}`} data-weight={weight} aria-label={masked ? t("matrix.masked") : undefined}
                    style={masked ? {} : { background: `color-mix(in srgb, var(--blue) ${(FULL * Math.min(1, weight)).toFixed(1)}%, transparent)` }}
                    onClick={() => choose(row, column)} onFocus={() => choose(row, column)}>{brief(weight)}</td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

type Colour = readonly [number, number, number];

/** Draws each weight as a pixel of a colour, the role's; the browser makes it larger without blurring. */
export function paint(canvas: HTMLCanvasElement | null, weights: readonly ArrayLike<number>[], colour?: Colour): void {
  const [height, width] = [weights.length, weights[0]?.length ?? 0];
  const context = canvas?.getContext("2d");
  if (!canvas || !context || !height || !width) return;
  [canvas.width, canvas.height] = [width, height];
  const [red, green, blue] = colour ?? colourOf(canvas);
  const image = context.createImageData(width, height);
  weights.forEach((row, y) => {
    for (let x = 0; x < width; x += 1) image.data.set([red, green, blue, Math.round(255 * Math.min(1, row[x] ?? 0))], 4 * (y * width + x));
  });
  context.putImageData(image, 0, 0);
}

/** The colour of the element's text, which the style sheet gives. */
function colourOf(element: Element): Colour {
  const [red = 0, green = 0, blue = 0] = getComputedStyle(element).color.match(/[\d.]+/g)?.map(Number) ?? [];
  return [red, green, blue];
}

function Drawing(shown: Shown): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const { weights, rows, columns } = shown;
  useEffect(() => paint(canvas.current, weights), [weights]);
  const size = Math.max(2, Math.min(12, Math.floor(900 / columns.length)));
  const { row, column } = cell.value;
  const point = (event: MouseEvent): void => choose(Math.floor(event.offsetY / size), Math.floor(event.offsetX / size));
  return (
    <div class="scroll" role="region" aria-label={t("attention.map")}>
      <div class="drawing" style={{ width: `${size * columns.length}px`, height: `${size * rows.length}px` }} role="img" tabIndex={0}
        aria-label={spokenCell(shown)} onKeyDown={moveBy} onClick={point}>
        <canvas ref={canvas} />
        <span class="frame" style={{ left: `${size * column}px`, top: `${size * row}px`, width: `${size}px`, height: `${size}px` }} />
      </div>
    </div>
  );
}

export function HeatMap(shown: Shown): JSX.Element {
  return shown.rows.length * shown.columns.length <= MOST_CELLS ? <Table {...shown} /> : <Drawing {...shown} />;
}
