// The beam search of a line as a tree, as Python writes it.
export type Fate = "kept" | "finished" | "dropped";
export type Reason = "" | "rank" | "end-rank" | "constraint" | "limit" | "enough" | "better" | "cut";

/** A piece after a prefix: the prefix is the path from the root. Log-probabilities in nats. */
export interface SearchNode {
  readonly id: number;
  readonly parent: number | null;
  readonly step: number;
  readonly piece: string;
  readonly logProbability: number;
  readonly score: number;
  /** Among the candidates of its step, from 1; 0 of the root and of what a rule excluded. */
  readonly rank: number;
  readonly fate: Fate;
  readonly reason: Reason;
}

/** final = score / penalty + credit. */
export interface Finished {
  readonly node: number;
  readonly text: string;
  readonly score: number;
  readonly length: number;
  readonly penalty: number;
  readonly credit: number;
  readonly final: number;
  readonly rank: number;
}

export interface SearchTree {
  readonly source: string;
  readonly beam: number;
  readonly lengthPenalty: { readonly alpha: number; readonly rule: "paper" | "power" };
  readonly limit: number;
  readonly stopped: Reason;
  /** Each parent before its children; ids are places. */
  readonly nodes: readonly SearchNode[];
  readonly finished: readonly Finished[];
}

export function lastStep({ nodes }: SearchTree): number {
  return nodes.reduce((last, { step }) => Math.max(last, step), 0);
}

/** From the root to the node. */
export function pathOf({ nodes }: SearchTree, id: number): readonly SearchNode[] {
  const found: SearchNode[] = [];
  for (let node = nodes[id]; node; node = node.parent === null ? undefined : nodes[node.parent]) found.unshift(node);
  return found;
}

/** The text of a path: its pieces without the root, whose piece is the start symbol. */
export function textOf(tree: SearchTree, id: number): string {
  return pathOf(tree, id).slice(1).map(({ piece }) => piece).join("");
}

/** The candidates of a step by rank; what a rule excluded comes last. */
export function candidates({ nodes }: SearchTree, step: number): readonly SearchNode[] {
  return nodes.filter((node) => node.step === step && step > 0).sort((a, b) => Number(a.rank === 0) - Number(b.rank === 0) || a.rank - b.rank);
}
