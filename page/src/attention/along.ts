// Weights to the positions of a sound or a picture, of which each has little: rows are scaled by their own largest one.

/** The largest weight of a row within the sound, and the position that has it. */
export function peakOf(row: ArrayLike<number>, positions: number): { readonly weight: number; readonly place: number } {
  let place = 0;
  for (let one = 1; one < positions; one += 1) if ((row[one] ?? 0) > (row[place] ?? 0)) place = one;
  return { weight: row[place] ?? 0, place };
}

/** A row's weights within the sound, as shares of the largest of them. */
export function scaled(row: Float64Array, positions: number): Float64Array {
  const { weight } = peakOf(row, positions);
  return row.slice(0, positions).map((one) => (weight > 0 ? one / weight : 0));
}
