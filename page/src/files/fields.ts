// Text as files need it: in XML, as a field of CSV, and how wide it is drawn.
const LETTER = 9; // pixels
const ESCAPES: Readonly<Record<string, string>> = { "<": "&lt;", ">": "&gt;", "&": "&amp;", '"': "&quot;" };


/** Text for XML, without the characters that it forbids. */
export function escaped(text: string): string {
  // eslint-disable-next-line no-control-regex
  return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd").replace(/[<>&"]/g, (sign) => ESCAPES[sign] ?? sign);
}

/** About how wide a text is: a Chinese character is as wide as two Latin ones. */
export function width(text: string): number {
  return Array.from(text).reduce((sum, one) => sum + ((one.codePointAt(0) ?? 0) >= 0x1100 ? 1.7 * LETTER : LETTER), 0);
}

/** A field of CSV; one that a spreadsheet would take for a formula begins with an apostrophe. */
export function field(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
