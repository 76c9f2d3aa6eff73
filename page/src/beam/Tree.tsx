// The tree from left to right: a column for each step, lines from each piece to those that were tried after it.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../shell/texts";
import { decimal } from "../text/numbers";
import { visible } from "../text/words";
import type { SearchTree } from "./data";
import { bounded, neighbour, type Placed } from "./layout";
import { best, choose, chosen, shown, step } from "./state";
import { fateOf } from "./words";

export const [ACROSS, DOWN] = [132, 44]; // pixels of a column and of a row
const [WIDE, HIGH] = [112, 36]; // of a node
const MOST = 900; // nodes: beyond it only their number is shown

const MARK = { kept: "", finished: "✓ ", dropped: "× " } as const;

function look({ node }: Placed): string {
  return ["node", node.fate, best.value.has(node.id) ? "best" : "", node.id === chosen.value ? "chosen" : ""].filter(Boolean).join(" ");
}

function Node({ of, at }: { readonly of: SearchTree; readonly at: Placed }): JSX.Element {
  const { node, row } = at;
  const name = t("beam.node", { piece: visible(node.piece), probability: Math.exp(node.logProbability).toFixed(4), score: decimal(node.score), fate: fateOf(of, node, step.value) });
  return (
    <div role="treeitem" class={look(at)} aria-level={node.step + 1} aria-selected={node.id === chosen.value} aria-label={name} title={name}
      tabIndex={node.id === chosen.value ? 0 : -1} data-node={node.id} style={{ left: `${ACROSS * node.step}px`, top: `${DOWN * row}px`, width: `${WIDE}px`, height: `${HIGH}px` }}
      onClick={() => choose(node.id)}>
      <bdi>{MARK[node.fate]}{visible(node.piece)}</bdi>
      <small>{node.step > 0 ? `${decimal(node.logProbability, 2)} · ${decimal(node.score, 2)}` : ""}</small>
    </div>
  );
}

/** Lines to the nodes from those before them, as one path for each look. */
function Edges({ all }: { readonly all: readonly Placed[] }): JSX.Element {
  const rows = new Map(all.map(({ node, row }) => [node.id, row]));
  const lines = (wanted: (one: Placed) => boolean): string =>
    all.filter(wanted).flatMap(({ node, row }) => {
      const from = node.parent === null ? undefined : rows.get(node.parent);
      if (from === undefined) return [];
      const [x, y, toX, toY] = [ACROSS * (node.step - 1) + WIDE, DOWN * from + HIGH / 2, ACROSS * node.step, DOWN * row + HIGH / 2];
      return [`M${x} ${y}C${x + 10} ${y} ${toX - 10} ${toY} ${toX} ${toY}`];
    }).join("");
  const [wide, high] = extent(all);
  return (
    <svg width={wide} height={high} aria-hidden="true">
      <path class="dropped" d={lines(({ node }) => node.fate === "dropped")} />
      <path d={lines(({ node }) => node.fate !== "dropped" && !best.value.has(node.id))} />
      <path class="best" d={lines(({ node }) => best.value.has(node.id))} />
    </svg>
  );
}

export function extent(all: readonly Placed[]): readonly [number, number] {
  const steps = all.reduce((most, { node }) => Math.max(most, node.step), 0);
  const rows = all.reduce((most, { row }) => Math.max(most, row), 0);
  return [ACROSS * steps + WIDE + 4, DOWN * rows + HIGH + 4];
}

export function Tree({ of }: { readonly of: SearchTree }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const all = bounded(shown.value, MOST, (id) => id === chosen.value || best.value.has(id));
  const onKey = (event: KeyboardEvent): void => {
    const to = neighbour(all, chosen.value, event.key);
    if (to === undefined || !event.key.startsWith("Arrow")) return;
    event.preventDefault();
    choose(to);
    requestAnimationFrame(() => box.current?.querySelector<HTMLElement>(".node.chosen")?.focus());
  };
  useEffect(() => {
    box.current?.scrollTo({ left: ACROSS * (step.value + 1) - box.current.clientWidth + 40 });
  }, [step.value, of]);
  const [wide, high] = extent(all);
  return (
    <div class="scroll beam-tree" ref={box}>
      <div role="tree" aria-label={t("beam.tree")} onKeyDown={onKey} style={{ width: `${wide}px`, height: `${high}px` }}>
        <Edges all={all} />
        {all.map((at) => <Node key={at.node.id} of={of} at={at} />)}
      </div>
      {shown.value.length > all.length && <p class="muted">{t("beam.more", { n: shown.value.length - all.length })}</p>}
    </div>
  );
}
