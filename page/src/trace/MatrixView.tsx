// The chosen matrix: all of a small one; of a large one a window around the chosen cell, and the whole as a drawing.
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../shell/texts";
import { isDark } from "../shell/theme";
import type { Table } from "../files/table";
import { Grid } from "../step/Grid";
import { visible } from "../text/words";
import type { WrittenStep } from "./data";
import { largestOf, numberText, pooled, windowStart } from "./numbers";
import { cell, choose, columnNames, focusWanted, rowNames } from "./state";

const [MOST_ROWS, MOST_COLUMNS] = [24, 12];
const FULL = 42; // per cent of the colour behind the largest value: the number on it stays readable in both themes
const [WIDE, HIGH] = [640, 160]; // pixels of a drawing at most

/** Shares on a scale from 0 to 1; other values blue or orange, on a scale symmetric about 0. */
function shade(value: number, largest: number, areShares: boolean): string | undefined {
  if (!Number.isFinite(value) || value === 0) return undefined;
  const share = areShares ? value : (0.6 * Math.abs(value)) / largest;
  return `color-mix(in srgb, var(${value < 0 ? "--orange" : "--blue"}) ${(FULL * share).toFixed(1)}%, transparent)`;
}

/** All of a step's matrix as a table of files. */
export function allOf(of: WrittenStep, matrix: Float64Array): Table {
  const [rows, columns] = [rowNames.value, columnNames.value];
  const values = rows.map((_, row) => matrix.subarray(row * columns.length, (row + 1) * columns.length));
  return {
    title: of.name, rows: rows.map(visible), columns: columns.map(visible), values, areShares: of.areShares,
    text: (row, column) => numberText(values[row]?.[column] ?? NaN, of.isWhole),
  };
}

/** The window of it that is in view. */
export function viewOf(of: WrittenStep, matrix: Float64Array): Table {
  const all = allOf(of, matrix);
  const [top, left] = [windowStart(cell.value.row, all.rows.length, MOST_ROWS), windowStart(cell.value.column, all.columns.length, MOST_COLUMNS)];
  const values = all.values.slice(top, top + MOST_ROWS).map((row) => Array.from(row).slice(left, left + MOST_COLUMNS));
  return {
    ...all, rows: all.rows.slice(top, top + MOST_ROWS), columns: all.columns.slice(left, left + MOST_COLUMNS), values,
    text: (row, column) => all.text(top + row, left + column),
  };
}

export function MatrixView({ of, matrix }: { readonly of: WrittenStep; readonly matrix: Float64Array }): JSX.Element {
  const [rows, columns] = [rowNames.value, columnNames.value];
  const { row, column } = cell.value;
  const wish = useSignal(0);
  const [top, left] = [windowStart(row, rows.length, MOST_ROWS), windowStart(column, columns.length, MOST_COLUMNS)];
  const largest = largestOf(matrix);
  const at = (y: number, x: number): number => matrix[(top + y) * columns.length + left + x] ?? NaN;
  const choose_ = (y: number, x: number): void => {
    choose(top + y, left + x);
    wish.value += 1; // the window may have moved under the focus
  };
  return (
    <div class="trace-value">
      <div class="scroll">
        <Grid name={of.name} kind="made" rows={rows.slice(top, top + MOST_ROWS).map(visible)} columns={columns.slice(left, left + MOST_COLUMNS).map(visible)}
          active={{ row: row - top, column: column - left }} onActive={choose_} onEnter={() => document.querySelector<HTMLElement>(".panel .inputs button")?.focus()}
          focusWish={wish.value + focusWanted.value}
          look={(y, x) => {
            const value = at(y, x);
            return {
              text: numberText(value, of.isWhole), chosen: top + y === row && left + x === column, masked: value === -Infinity,
              background: of.isWhole ? undefined : shade(value, largest, of.areShares), title: `${visible(rows[top + y] ?? "")} ${visible(columns[left + x] ?? "")}`.trim(),
            };
          }} />
      </div>
      {(rows.length > MOST_ROWS || columns.length > MOST_COLUMNS) && (
        <>
          <p class="where">{t("trace.window", { rows: `${top}–${Math.min(top + MOST_ROWS, rows.length) - 1}`, columns: `${left}–${Math.min(left + MOST_COLUMNS, columns.length) - 1}`, of: `${rows.length} × ${columns.length}` })}</p>
          <Drawing matrix={matrix} rows={rows.length} columns={columns.length} largest={largest} areShares={of.areShares} />
        </>
      )}
    </div>
  );
}

interface Drawn {
  readonly matrix: Float64Array;
  readonly rows: number;
  readonly columns: number;
  readonly largest: number;
  readonly areShares: boolean;
}

function channels(element: Element, name: string): readonly [number, number, number] {
  const colour = getComputedStyle(element).getPropertyValue(name).trim().replace("#", "");
  return [0, 2, 4].map((start) => Number.parseInt(colour.slice(start, start + 2), 16) || 0) as [number, number, number];
}

function Drawing(of: Drawn): JSX.Element {
  const { rows, columns, matrix, largest, areShares } = of;
  const canvas = useRef<HTMLCanvasElement>(null);
  const [high, wide] = [Math.min(rows, HIGH), Math.min(columns, WIDE)];
  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context) return;
    [element.width, element.height] = [wide, high];
    const [blue, orange] = [channels(element, "--blue"), channels(element, "--orange")];
    const image = context.createImageData(wide, high);
    pooled(of, high, wide).forEach((value, place) => {
      const opacity = Math.min(1, Math.abs(value) / (areShares ? 1 : largest));
      image.data.set([...(value < 0 ? orange : blue), Math.round(255 * opacity)], 4 * place);
    });
    context.putImageData(image, 0, 0);
  }, [matrix, isDark.value]);
  const point = (event: MouseEvent): void => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    choose(Math.floor(((event.clientY - box.top) / box.height) * rows), Math.floor(((event.clientX - box.left) / box.width) * columns));
  };
  const percent = (part: number, all: number): string => `${(100 * part) / all}%`;
  const [top, left] = [windowStart(cell.value.row, rows, MOST_ROWS), windowStart(cell.value.column, columns, MOST_COLUMNS)];
  return (
    <div class="overview" onClick={point} style={{ aspectRatio: `${Math.max(wide, 3 * high)} / ${Math.max(high, 12)}` }} role="img" aria-label={t("trace.overview")}>
      <canvas ref={canvas} />
      <span class="frame" style={{ top: percent(top, rows), left: percent(left, columns), height: percent(Math.min(MOST_ROWS, rows), rows), width: percent(Math.min(MOST_COLUMNS, columns), columns) }} />
    </div>
  );
}
