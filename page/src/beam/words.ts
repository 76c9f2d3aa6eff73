// What became of a node, and why, in words.
import { said, t } from "../shell/texts";
import type { SearchNode, SearchTree } from "./data";

export function fateOf(tree: SearchTree, node: SearchNode): string {
  const finished = tree.finished.find((one) => one.node === node.id);
  if (finished) return t(node.reason === "cut" ? "beam.cut" : "beam.finished", { rank: finished.rank });
  if (node.fate === "kept") return tree.nodes.some(({ parent, rank }) => parent === node.id && rank > 0) || node.id === 0 ? t("beam.kept") : t("beam.without");
  return said(`beam.reason.${node.reason}`, { rank: node.rank, beam: tree.beam, limit: tree.limit });
}

export function nats(value: number, digits = 4): string {
  return value.toFixed(digits).replace("-", "−");
}
