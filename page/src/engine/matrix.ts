// Matrices are never changed in place: an edit makes a new one, and undo takes the old one back bit for bit.
export type Matrix = readonly (readonly number[])[];

export function matrix(rows: number, columns: number, value: (row: number, column: number) => number): Matrix {
  return Array.from({ length: rows }, (_, row) => Array.from({ length: columns }, (_, column) => value(row, column)));
}

export function at(values: Matrix, row: number, column: number): number {
  const value = values[row]?.[column];
  if (value === undefined) throw new RangeError(`no cell ${row}, ${column}`);
  return value;
}

export function rowOf(values: Matrix, row: number): readonly number[] {
  const found = values[row];
  if (found === undefined) throw new RangeError(`no row ${row}`);
  return found;
}

export function width(values: Matrix): number {
  return values[0]?.length ?? 0;
}

export function transposed(values: Matrix): Matrix {
  return matrix(width(values), values.length, (row, column) => at(values, column, row));
}

export function withCell(values: Matrix, row: number, column: number, value: number): Matrix {
  return values.map((cells, place) => (place === row ? cells.map((cell, at) => (at === column ? value : cell)) : cells));
}

export function sameSize(first: Matrix, second: Matrix): boolean {
  return first.length === second.length && first.every((row, place) => row.length === second[place]?.length);
}

/** The largest difference of two matrices of one size; infinite where the sizes or the infinities differ. */
export function largestDifference(first: Matrix, second: Matrix): number {
  if (!sameSize(first, second)) return Infinity;
  let largest = 0;
  first.forEach((row, place) =>
    row.forEach((value, column) => {
      const other = at(second, place, column);
      const difference = Object.is(value, other) || value === other ? 0 : Math.abs(value - other);
      largest = Number.isNaN(difference) ? Infinity : Math.max(largest, difference);
    }),
  );
  return largest;
}
