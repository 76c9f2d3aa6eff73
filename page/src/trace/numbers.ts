// Numbers as text, which of them a window shows, and which of them a drawing keeps.
import { decimal } from "../text/numbers";
import { summary } from "./data";

/** The first place of a window of so many that has the chosen place in its middle, as far as there are others. */
export function windowStart(chosen: number, size: number, most: number): number {
  return Math.max(0, Math.min(chosen - Math.floor(most / 2), size - most));
}

export function numberText(value: number, isWhole: boolean): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "−∞";
  if (isWhole) return String(value);
  const size = Math.abs(value);
  return size !== 0 && (size < 1e-3 || size >= 1e5) ? value.toExponential(2).replaceAll("-", "−") : decimal(value);
}

export function largestOf(matrix: Float64Array): number {
  const found = summary(matrix);
  return found ? Math.max(Math.abs(found.least), Math.abs(found.most), 1e-12) : 1;
}

/** Of the numbers behind each pixel the one furthest from zero. */
export function pooled({ matrix, rows, columns }: { readonly matrix: Float64Array; readonly rows: number; readonly columns: number }, high: number, wide: number): Float64Array {
  const found = new Float64Array(high * wide);
  for (let row = 0; row < rows; row += 1) {
    const y = Math.floor((row * high) / rows) * wide;
    for (let column = 0; column < columns; column += 1) {
      const place = y + Math.floor((column * wide) / columns);
      const value = matrix[row * columns + column] ?? 0;
      if (Number.isFinite(value) && Math.abs(value) > Math.abs(found[place] ?? 0)) found[place] = value;
    }
  }
  return found;
}
