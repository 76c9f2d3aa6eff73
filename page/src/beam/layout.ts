// Where each node of a search stands: a column for each step, a row for each path.
import type { SearchNode, SearchTree } from "./data";

export interface Placed {
  readonly node: SearchNode;
  readonly row: number;
}

/** What is shown after a step: all that is kept or finished until then, and what that step dropped, or any did. */
export function isShown(node: SearchNode, step: number, withDropped: boolean): boolean {
  return node.step <= step && (node.fate !== "dropped" || withDropped || node.step === step);
}

/** Children by rank. A node stands in the row of its first child, and a node without children has a row of its own. */
export function placed({ nodes }: SearchTree, step: number, withDropped: boolean): readonly Placed[] {
  const below = new Map<number, SearchNode[]>();
  const shown = nodes.filter((node) => isShown(node, step, withDropped));
  for (const node of shown) if (node.parent !== null) below.set(node.parent, [...(below.get(node.parent) ?? []), node]);
  const found: Placed[] = [];
  const waiting: SearchNode[] = shown.slice(0, 1);
  let row = 0;
  // Depth first without recursion: a search may be deeper than functions may call each other.
  for (let node = waiting.pop(); node; node = waiting.pop()) {
    found.push({ node, row });
    const children = (below.get(node.id) ?? []).sort(byRank);
    if (children.length === 0) row += 1;
    waiting.push(...children.reverse());
  }
  return found;
}

/** At most so many of them: first those that must be there, then those of later steps before those of earlier ones. */
export function bounded(all: readonly Placed[], most: number, isFirst: (id: number) => boolean): readonly Placed[] {
  if (all.length <= most) return all;
  const order = [...all].sort((a, b) => Number(isFirst(b.node.id)) - Number(isFirst(a.node.id)) || b.node.step - a.node.step);
  const kept = new Set(order.slice(0, most));
  return all.filter((one) => kept.has(one));
}

function byRank(a: SearchNode, b: SearchNode): number {
  return Number(a.fate === "dropped") - Number(b.fate === "dropped") || Number(a.rank === 0) - Number(b.rank === 0) || a.rank - b.rank;
}

/** The node that an arrow leads to: the parent, the first child, or the next one above or below. */
export function neighbour(all: readonly Placed[], id: number, key: string): number | undefined {
  const here = all.find(({ node }) => node.id === id);
  if (!here) return all[0]?.node.id;
  if (key === "ArrowLeft") return here.node.parent ?? undefined;
  if (key === "ArrowRight") return all.find(({ node }) => node.parent === id)?.node.id;
  const column = all.filter(({ node }) => node.step === here.node.step).sort((a, b) => a.row - b.row);
  const place = column.indexOf(here) + (key === "ArrowDown" ? 1 : key === "ArrowUp" ? -1 : 0);
  return column[place]?.node.id;
}
