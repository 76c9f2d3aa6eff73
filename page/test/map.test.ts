import { expect, test } from "vitest";
import { STEP } from "../src/engine/steps";
import { countOf, read, totals, weightsOf, type Box, type ModelMap, type Side } from "../src/map/content";
import { BOX, column, crossings, figure, flows, neighbour, replacing, residuals } from "../src/map/layout";
import { stepOf } from "../src/map/steps";

const box = (slot: string, role: string, side: Side, more: Partial<Box> = {}): Box =>
  ({ slot, role, side, module: slot, weights: [], operations: 0, shape: [], meaning: 0, ...more });
const model = (name: string, boxes: readonly Box[]): ModelMap => ({ name, settings: {}, sizes: [9, 9], lengths: [3, 3], boxes, meanings: [] });

const ENCODER = { stack: "encoder", copies: 2 };
const DECODER = { stack: "decoder", copies: 2 };
const paper = model("paper", [
  box("source.embedding", "embedding", "source", { weights: [["table.weight", [9, 4], 1]] }),
  box("encoder.self_attention", "self-attention", "source", { ...ENCODER, operations: 30 }),
  box("encoder.self_attention.add", "add-norm", "source", ENCODER),
  box("target.embedding", "embedding", "target", { weights: [["table.weight", [9, 4], 1, "source.embedding"]] }),
  box("decoder.self_attention", "masked-attention", "target", DECODER),
  box("decoder.self_attention.add", "add-norm", "target", DECODER),
  box("decoder.cross_attention", "cross-attention", "target", { ...DECODER, operations: 12 }),
  box("decoder.cross_attention.add", "add-norm", "target", DECODER),
  box("output", "output", "target"),
]);
const gpt = model("gpt", [
  box("target.embedding", "embedding", "target"),
  box("decoder.self_attention.norm", "norm", "target", DECODER),
  box("decoder.self_attention", "masked-attention", "target", DECODER),
  box("decoder.self_attention.add", "add", "target", DECODER),
  box("output", "output", "target"),
]);
const bert = model("bert", [
  box("source.embedding", "patches", "source"),
  box("encoder.self_attention", "self-attention", "source", ENCODER),
  box("encoder.self_attention.add", "add-norm", "source", ENCODER),
  box("output", "output", "source"),
]);
const lacks = (of: ModelMap): string[] => figure(of, paper).places.filter((one) => !one.box).map(({ slot }) => slot);

test("weights are the product of a shape in all layers, and shared ones count nothing", () => {
  expect(countOf(["w", [3, 4], 5])).toBe(60);
  expect(countOf(["w", [3, 4], 5, "elsewhere"])).toBe(0);
  expect(weightsOf(box("a", "embedding", "source", { weights: [["w", [3], 2], ["b", [], 1]] }))).toBe(7);
  expect(totals(paper)).toEqual({ weights: 36, operations: 42 });
});

test("maps keep their own meanings and lines of code, and other schemas are refused", () => {
  const lines = { name: "openwork.a.B.c", file: "openwork/a.py", first_line: 1, last_line: 2, source: "def c" };
  const meaning = { kind: "B", formulas: [], source: "", exhibits: [], code: [0] };
  const written = { schema: 1, family: {}, maps: [{ ...paper }], meanings: [meaning], code: [lines] };
  expect(read(written)[0]?.meanings[0]?.code).toEqual([lines]);
  expect(() => read({ ...written, schema: 2 })).toThrow(RangeError);
});

test("a model lacks what it has nowhere, and the place of it stays", () => {
  expect(lacks(paper)).toEqual([]);
  expect(lacks(gpt)).toEqual(["source.embedding", "encoder.self_attention", "encoder.self_attention.add", "decoder.cross_attention", "decoder.cross_attention.add"]);
  const slots = column(gpt, paper, "target").map(({ slot }) => slot);
  expect(slots).toEqual(["target.embedding", "decoder.self_attention.norm", "decoder.self_attention", "decoder.self_attention.add",
    "decoder.cross_attention", "decoder.cross_attention.add", "output"]);
  expect(lacks(bert)).not.toContain("output"); // it stands on the other side
  expect(replacing(bert, paper).map(([one, other]) => [one.role, other.role])).toEqual([["patches", "embedding"]]);
});

test("boxes of a column stand one above the other and inside the picture", () => {
  for (const of of [paper, gpt, bert]) {
    const { places, frames, width, height } = figure(of, paper);
    for (const side of ["source", "target"]) {
      const rows = places.filter((one) => one.side === side).map(({ y }) => y);
      rows.slice(1).forEach((y, number) => expect((rows[number] ?? 0) - y).toBeGreaterThan(BOX.height));
    }
    for (const { x, y } of places) expect(x >= 0 && x + BOX.width <= width && y >= 0 && y + BOX.height <= height).toBe(true);
    expect(frames.map(({ copies }) => copies)).toEqual(of === paper ? [2, 2] : [2]);
  }
});

test("residual connections begin below the sub-layer, or below its norm", () => {
  const ways = (of: ModelMap): string[][] => residuals(figure(of, paper)).map(({ from, to }) => [from.slot, to.slot]);
  expect(ways(gpt)).toEqual([["decoder.self_attention.norm", "decoder.self_attention.add"]]);
  expect(ways(bert)).toEqual([["encoder.self_attention", "encoder.self_attention.add"]]);
  expect(ways(paper)).toHaveLength(3);
});

test("keys and values come from the last box of the source, where there is one", () => {
  const found = crossings(figure(paper, paper));
  expect([found?.memory.slot, ...(found?.to.map(({ slot }) => slot) ?? [])]).toEqual(["encoder.self_attention.add", "decoder.cross_attention"]);
  expect(crossings(figure(gpt, paper))).toBeNull();
  expect(flows(figure(gpt, paper)).map(([lower, upper]) => `${lower.slot} ${upper.slot}`)).toContain("decoder.self_attention.add output");
});

test("arrow keys go along a column, past what is missing, and to the other column", () => {
  const drawn = figure(gpt, paper);
  expect(neighbour(drawn, "decoder.self_attention.add", "up")).toBe("output");
  expect(neighbour(drawn, "output", "up")).toBe("output");
  expect(neighbour(drawn, "output", "down")).toBe("decoder.self_attention.add");
  expect(neighbour(drawn, "output", "left")).toBe("output");
  expect(neighbour(figure(paper, paper), "target.embedding", "left")).toBe("source.embedding");
  expect(neighbour(figure(paper, paper), "source.embedding", "right")).toBe("target.embedding");
});

test("each step that a box leads to is one of the worked example", () => {
  for (const { slot } of [...paper.boxes, ...gpt.boxes]) {
    const step = stepOf(slot);
    expect(step && STEP.has(step), slot).toBe(true);
  }
  expect(stepOf("encoder.layers")).toBeUndefined();
});
