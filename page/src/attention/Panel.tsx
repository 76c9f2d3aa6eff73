// The chosen cell in words and numbers, its row by weight, and what the head does on average.
import type { JSX } from "preact";
import { said, t } from "../shell/texts";
import type { Attention } from "./data";
import { spokenCell } from "./HeatMap";
import type { Shown } from "./levels";
import { attention, cell, choose, heads, kind, layer } from "./state";

const LISTED = 8;

function Row({ shown }: { readonly shown: Shown }): JSX.Element {
  const { row } = cell.value;
  const weights = [...(shown.weights[row] ?? [])].map((weight, column) => ({ weight, column })).sort((a, b) => b.weight - a.weight);
  return (
    <>
      <h3>{t("attention.row", { row: shown.rows[row]?.label ?? "" })}</h3>
      <ol class="choices">
        {weights.slice(0, LISTED).map(({ weight, column }) => (
          <li key={column}>
            <button type="button" class="choice" onClick={() => choose(row, column)}>
              <span class="bar" style={{ width: `${(100 * weight).toFixed(1)}%` }} aria-hidden="true" />
              <span class="piece"><bdi>{shown.columns[column]?.label}</bdi></span>
              <span class="count">{weight.toFixed(4)}</span>
            </button>
          </li>
        ))}
      </ol>
      <p class="muted">{t("attention.sum", { sum: weights.reduce((sum, { weight }) => sum + weight, 0).toFixed(4) })}</p>
    </>
  );
}

function Facts({ of }: { readonly of: Attention }): JSX.Element | null {
  const found = of.facts.filter((one) => one.kind === kind.value && one.layer === layer.value);
  if (found.length === 0) return null;
  const within = kind.value !== "cross";
  const names = within ? (["entropy", "largest", "distance", "before", "same", "after"] as const) : (["entropy", "largest"] as const);
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={t("attention.facts")}>
      <table class="facts">
        <caption>{t("attention.facts")}</caption>
        <thead><tr><th scope="col">{t("attention.headColumn")}</th>{names.map((name) => <th scope="col" key={name}>{said(`fact.${name}`)}</th>)}</tr></thead>
        <tbody>
          {found.map(({ head, ...values }) => (
            <tr key={head} class={heads.value === head ? "chosen" : ""}>
              <th scope="row"><button type="button" class="quiet" aria-pressed={heads.value === head} onClick={() => (heads.value = head)}>{head + 1}</button></th>
              {names.map((name) => <td key={name}>{values[name].toFixed(2)}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Prediction({ of }: { readonly of: Attention }): JSX.Element | null {
  const piece = of.targetPieces[cell.value.row];
  if (kind.value === "encoder" || !piece || piece.logProbability === null) return null;
  return <p class="muted">{t("attention.probability", { piece: piece.predicted.trim() || "␣", probability: Math.exp(piece.logProbability).toFixed(4) })}</p>;
}

export function Panel({ shown, ofPieces }: { readonly shown: Shown; readonly ofPieces: boolean }): JSX.Element {
  const of = attention.value;
  return (
    <aside class="panel" aria-label={t("attention.panel")}>
      <h2>{t("attention.panel")}</h2>
      <p class="cell" aria-live="polite"><bdi>{spokenCell(shown)}</bdi></p>
      {of && ofPieces && <Prediction of={of} />}
      <Row shown={shown} />
      {of && <Facts of={of} />}
      <p class="note">{t("attention.caution")}</p>
    </aside>
  );
}
