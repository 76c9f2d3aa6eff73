// The candidates of a step by rank, the finished hypotheses, and the chosen node with its numbers in place.
import type { JSX } from "preact";
import { t } from "../shell/texts";
import { decimal } from "../text/numbers";
import { visible } from "../text/words";
import { candidates, pathOf, textOf, type SearchNode, type SearchTree } from "./data";
import { choose, chosen, isWhole, step } from "./state";
import { fateOf } from "./words";

const MOST = 200; // candidates listed

export function Candidates({ of }: { readonly of: SearchTree }): JSX.Element | null {
  const found = candidates(of, step.value);
  if (found.length === 0) return null;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={t("beam.candidates", { step: step.value })}>
      <table class="listing candidates">
        <caption>{t("beam.candidates", { step: step.value })}</caption>
        <thead><tr>
          <th scope="col">{t("beam.rank")}</th><th scope="col">{t("beam.piece")}</th><th scope="col">{t("beam.after")}</th>
          <th scope="col">{t("beam.logProbability")}</th><th scope="col">{t("beam.score")}</th><th scope="col">{t("beam.fate")}</th>
        </tr></thead>
        <tbody>
          {found.slice(0, MOST).map((node) => (
            <tr key={node.id} class={`${node.fate} ${node.id === chosen.value ? "chosen" : ""}`}>
              <td>{node.rank || "–"}</td>
              <th scope="row"><button type="button" class="link" onClick={() => choose(node.id)}><bdi>{visible(node.piece)}</bdi></button></th>
              <td class="text"><bdi>{node.parent === null ? "" : textOf(of, node.parent)}</bdi></td>
              <td>{decimal(node.logProbability)}</td><td>{decimal(node.score)}</td><td class="text">{fateOf(of, node, step.value)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {found.length > MOST && <p class="muted">{t("beam.more", { n: found.length - MOST })}</p>}
    </div>
  );
}

export function Hypotheses({ of }: { readonly of: SearchTree }): JSX.Element | null {
  const found = of.finished.filter(({ node }) => (of.nodes[node]?.step ?? 0) <= step.value);
  if (found.length === 0) return <p class="muted">{t("beam.none")}</p>;
  const hasCredit = of.finished.some(({ credit }) => credit !== 0);
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={t("beam.hypotheses")}>
      <table class="listing finished">
        <caption>{t("beam.hypotheses")}</caption>
        <thead><tr>
          <th scope="col">{t("beam.rank")}</th><th scope="col">{t("beam.text")}</th><th scope="col">{t("beam.score")}</th><th scope="col">{t("beam.length")}</th>
          <th scope="col">{t("beam.penalty")}</th>{hasCredit && <th scope="col">{t("beam.credit")}</th>}<th scope="col">{t("beam.final")}</th>
        </tr></thead>
        <tbody>
          {found.map((one) => (
            <tr key={one.node} class={one.node === chosen.value ? "chosen" : ""}>
              <td>{isWhole.value ? one.rank : "–"}</td>
              <th scope="row" class="text"><button type="button" class="link" onClick={() => choose(one.node)}><bdi>{one.text || "∅"}</bdi></button></th>
              <td data-score={one.score}>{decimal(one.score)}</td><td>{one.length}</td><td>{decimal(one.penalty)}</td>
              {hasCredit && <td>{decimal(one.credit)}</td>}<td data-final={one.final}>{decimal(one.final)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {isWhole.value && <p class="where">{t(of.stopped === "limit" || of.stopped === "enough" || of.stopped === "better" ? `beam.stopped.${of.stopped}` : "beam.stopped.none")}</p>}
    </div>
  );
}

/** final = score / penalty + credit, with the numbers in place. */
function Final({ of, node }: { readonly of: SearchTree; readonly node: SearchNode }): JSX.Element | null {
  const one = of.finished.find((finished) => finished.node === node.id);
  if (!one) return null;
  const { alpha, rule } = of.lengthPenalty;
  const base = rule === "power" ? String(one.length) : `((5 + ${one.length}) / 6)`;
  return (
    <ol class="lines">
      <li><span class="note">{t("beam.penalty")}</span><span class="terms">{base}^{alpha} = {decimal(one.penalty)}</span></li>
      <li><span class="note">{t("beam.final")}</span><span class="terms">{decimal(one.score)} / {decimal(one.penalty)}{one.credit !== 0 && ` + ${decimal(one.credit)}`} = {decimal(one.final)}</span></li>
    </ol>
  );
}

export function Panel({ of }: { readonly of: SearchTree }): JSX.Element | null {
  const node = of.nodes[chosen.value];
  if (!node) return null;
  const before = pathOf(of, node.id).at(-2);
  return (
    <aside class="panel" aria-label={t("beam.panel")}>
      <h2>{t("beam.panel")}</h2>
      <p class="cell"><bdi>{visible(node.piece)}</bdi></p>
      {before && (
        <>
          <p class="value" aria-live="polite">{Math.exp(node.logProbability).toFixed(4)}</p>
          <p class="muted">{t("beam.afterText")} <bdi>{textOf(of, before.id) || "∅"}</bdi></p>
          <ol class="lines"><li><span class="note">{t("beam.score")}</span><span class="terms">{decimal(before.score)} + {decimal(node.logProbability)} = {decimal(node.score)}</span></li></ol>
        </>
      )}
      <p>{fateOf(of, node, step.value)}</p>
      <Final of={of} node={node} />
    </aside>
  );
}
