// Numbers as text.
export const DECIMALS = 4;

/** Four decimals, with a minus sign as wide as a digit. */
export function decimal(value: number, decimals = DECIMALS): string {
  if (value === -Infinity) return "−∞";
  const text = value.toFixed(decimals);
  return (Number(text) === 0 ? text.replace("-", "") : text).replace("-", "−");
}
