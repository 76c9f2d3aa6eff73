import { expect, test } from "vitest";
import { candidates, lastStep, pathOf, textOf, type SearchNode, type SearchTree } from "../src/beam/data";
import { csvOf, svgOf } from "../src/beam/files";
import { bounded, isShown, neighbour, placed } from "../src/beam/layout";
import { visible } from "../src/text/words";

const node = (id: number, parent: number | null, step: number, piece: string, rank: number, fate: SearchNode["fate"] = "kept"): SearchNode =>
  ({ id, parent, step, piece, rank, fate, reason: fate === "dropped" ? "rank" : "", logProbability: -1, score: -step });

/** Two hypotheses: the root has a, b and x; a has c, which is finished, and b has nothing that is kept. */
const tree: SearchTree = {
  source: "s", beam: 2, lengthPenalty: { alpha: 0.6, rule: "paper" }, limit: 9, stopped: "",
  nodes: [node(0, null, 0, "<s>", 0), node(1, 0, 1, "a", 1), node(2, 0, 1, "b", 2), node(3, 0, 1, "x", 3, "dropped"), node(4, 2, 2, "y", 2, "dropped"), node(5, 1, 2, "c", 1, "finished")],
  finished: [{ node: 5, text: "ac", score: -2, length: 2, penalty: 1.1, credit: 0, final: -1.8, rank: 1 }],
};

test("paths, their texts, and the candidates of a step by rank", () => {
  expect(pathOf(tree, 5).map(({ id }) => id)).toEqual([0, 1, 5]);
  expect([textOf(tree, 5), textOf(tree, 0)]).toEqual(["ac", ""]);
  expect(candidates(tree, 1).map(({ id }) => id)).toEqual([1, 2, 3]);
  expect(candidates(tree, 0)).toEqual([]);
  expect(lastStep(tree)).toBe(2);
});

test("a replay shows what was known by then, and what the last step dropped", () => {
  const ids = (step: number, all = false): number[] => tree.nodes.filter((one) => isShown(one, step, all)).map(({ id }) => id);
  expect([ids(0), ids(1), ids(2), ids(2, true)]).toEqual([[0], [0, 1, 2, 3], [0, 1, 2, 4, 5], [0, 1, 2, 3, 4, 5]]);
});

test("each path has a row, and a node stands in that of its first child", () => {
  const rows = Object.fromEntries(placed(tree, 2, true).map(({ node: { id }, row }) => [id, row]));
  expect(rows).toEqual({ 0: 0, 1: 0, 5: 0, 2: 1, 4: 1, 3: 2 });
});

test("arrows lead to parents, first children and neighbours of the same step", () => {
  const all = placed(tree, 2, true);
  expect(["ArrowLeft", "ArrowRight", "ArrowDown", "ArrowUp"].map((key) => neighbour(all, 2, key))).toEqual([0, 4, 3, 1]);
  expect(neighbour(all, 0, "ArrowLeft")).toBeUndefined();
  expect(neighbour(all, 99, "ArrowUp")).toBe(0);
});

test("a deep search is laid out", () => {
  const nodes = Array.from({ length: 20_000 }, (_, id) => node(id, id === 0 ? null : id - 1, id, "a", id === 0 ? 0 : 1));
  expect(placed({ ...tree, nodes }, 20_000, true).length).toBe(20_000);
});

test("files hold every node, and no formula of a spreadsheet", () => {
  const hostile = { ...tree, nodes: tree.nodes.map((one) => (one.id === 1 ? { ...one, piece: '=1+"<b>"' } : one)) };
  const rows = csvOf(hostile).split("\r\n");
  expect(rows.length).toBe(2 + tree.nodes.length);
  expect(rows[2]).toBe(`1,0,1,"'=1+""<b>""","'=1+""<b>""",-1,-1,1,kept,`);
  const drawn = svgOf(placed(hostile, 2, true), new Set([0, 1, 5]), { title: "<s>", steps: "steps", legend: { best: "best", finished: "f", kept: "k", dropped: "d" } });
  expect(drawn).not.toContain("<b>");
  expect(drawn.match(/<path /g)?.length).toBe(5);
});

test("of too many nodes the chosen ones and those of the last steps stay", () => {
  const all = placed(tree, 2, true);
  expect(bounded(all, 3, (id) => id === 3).map(({ node: { id } }) => id).sort()).toEqual([3, 4, 5]);
  expect(bounded(all, 6, () => false)).toBe(all);
});

test("bytes of a character keep their form", () => {
  expect([visible("⟨E6 88⟩"), visible(" a b"), visible("")]).toEqual(["⟨E6 88⟩", "␣a␣b", "∅"]);
});
