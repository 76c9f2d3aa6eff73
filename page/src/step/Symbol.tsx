// Symbols of formulas: Q_1 with its index below, K^T with its mark above, each letter in its role's colour.
import type { JSX } from "preact";

const ROLES: Readonly<Record<string, string>> = { Q: "query", K: "key", V: "value", x: "residual" };
const SYMBOL = /([A-Za-zγβμσ]+)(?:_(\w+))?(?:\^(\w+))?/g;

function symbol([, name = "", below, above]: RegExpMatchArray, place: number): JSX.Element {
  const role = name.length === 1 ? ROLES[name] : undefined;
  return (
    <span key={place} class={role ? `symbol role-${role}` : "symbol"}>
      {name.length === 1 && below !== undefined ? <i>{name}</i> : name}
      {below && <sub>{below}</sub>}
      {above && <sup>{above}</sup>}
    </span>
  );
}

export function Symbols({ text }: { readonly text: string }): JSX.Element {
  const parts: (string | JSX.Element)[] = [];
  let end = 0;
  for (const found of text.matchAll(SYMBOL)) {
    parts.push(text.slice(end, found.index), symbol(found, found.index));
    end = found.index + found[0].length;
  }
  return <span class="formula">{[...parts, text.slice(end)]}</span>;
}
