// What became of a node, and why, in words.
import { said, t } from "../shell/texts";
import { lastStep, type SearchNode, type SearchTree } from "./data";

/** As far as it is known after a step. */
export function fateOf(tree: SearchTree, node: SearchNode, step: number): string {
  const finished = tree.finished.find((one) => one.node === node.id);
  if (finished && step < lastStep(tree)) return t("beam.ended");
  if (finished) return t(node.reason === "cut" ? "beam.cut" : "beam.finished", { rank: finished.rank });
  if (node.fate === "kept") return node.step < step && node.id !== 0 && !tree.nodes.some(({ parent, rank }) => parent === node.id && rank > 0) ? t("beam.without") : t("beam.kept");
  return said(`beam.reason.${node.reason}`, { rank: node.rank, beam: tree.beam, limit: tree.limit });
}
