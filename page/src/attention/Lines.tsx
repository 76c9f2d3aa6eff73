// The chosen map as lines: what attends on one side, what it attends to on the other, thicker for larger weights.
import type { JSX } from "preact";
import { t } from "../shell/texts";
import { width } from "../files/fields";
import type { Shown } from "./levels";
import { cell, choose } from "./state";

const STEP = 28;
const FAINT = 0.04; // weights below it are not drawn
const GAP = 260;

export function Lines({ weights, rows, columns }: Shown): JSX.Element {
  const left = Math.max(...columns.map(({ label }) => width(label)), 40) + 12;
  const wide = left + GAP + Math.max(...rows.map(({ label }) => width(label)), 40) + 12;
  const high = STEP * Math.max(rows.length, columns.length) + 12;
  const y = (place: number): number => STEP * place + 20;
  const lines = weights.flatMap((row, place) =>
    [...row].flatMap((weight, column) => {
      if (weight < FAINT) return [];
      const isChosen = place === cell.value.row;
      return <line key={`${place} ${column}`} x1={left} y1={y(column) - 4} x2={left + GAP} y2={y(place) - 4} class={isChosen ? "chosen" : ""} stroke-width={1 + 5 * weight} stroke-opacity={isChosen ? 0.25 + 0.75 * weight : 0.35 * weight} />;
    }),
  );
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={t("attention.lines")}>
      <svg class="lines-map" width={wide} height={high} viewBox={`0 0 ${wide} ${high}`} role="img" aria-label={t("attention.lines")}>
        {lines}
        {columns.map(({ label }, place) => <text key={`c${place}`} x={left - 8} y={y(place)} text-anchor="end" class={weights[cell.value.row]?.[place]! >= FAINT ? "strong" : ""}>{label}</text>)}
        {rows.map(({ label }, place) => (
          <text key={`r${place}`} x={left + GAP + 8} y={y(place)} class={place === cell.value.row ? "strong" : ""} onMouseEnter={() => choose(place, cell.value.column)} onClick={() => choose(place, cell.value.column)}>{label}</text>
        ))}
      </svg>
    </div>
  );
}
