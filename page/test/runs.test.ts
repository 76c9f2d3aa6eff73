import { expect, test } from "vitest";
import { bySeed, differences, figuresOf, logged, meanOf, smoothed, validated, type Run } from "../src/runs/data";
import { drawn, lookOf, numberText, svgOf, ticksOf } from "../src/runs/plot";

const run = (name: string, settings: Record<string, unknown>, likelihood: readonly (number | null)[] = []): Run => ({
  name, is_finished: true, made: 3, wanted: 3, updated: 1, settings, every: 1, score_name: "", damaged: [], metric: "bleu", best: 0,
  curves: { step: [1, 2, 3], seconds: [10, 20, 30], likelihood },
  validations: [{ step: 3, seconds: 30, figures: { bleu: 20, chrf: null, exact: 0.25, score: null, loss: 2 }, sample: null }],
});

test("curves leave out what was not a number, and shares are per hundred", () => {
  const one = run("a", {}, [4, null, 2]);
  expect(logged(one, "likelihood", "step")).toEqual([[1, 4, 1], [3, 2, 3]]);
  expect(logged(one, "gradient_norm", "seconds")).toEqual([]);
  expect(validated(one, "exact", "seconds")).toEqual([[30, 25, 3]]);
  expect(validated(one, "chrf", "step")).toEqual([]);
  expect(figuresOf([one])).toEqual(["bleu", "exact", "loss"]);
});

test("a smoothed curve by hand: it begins where the curve begins", () => {
  const found = smoothed([[1, 4, 1], [2, 1, 2]], 0.5);
  expect(found[0]).toEqual([1, 4, 1]);
  expect(found[1]?.[1]).toBeCloseTo((0.25 * 4 + 0.5 * 1) / 0.75, 12);
  expect(smoothed([[1, 3, 1], [2, 3, 2], [3, 3, 3]], 0.9).every(([, y]) => Math.abs(y - 3) < 1e-12)).toBe(true);
});

test("settings that differ, in the order of the first run, with those that one lacks", () => {
  expect(differences([run("a", { x: 1, y: [1], z: "s" }), run("b", { x: 2, y: [1], w: true })])).toEqual([
    { key: "x", values: [1, 2] }, { key: "z", values: ["s", null] }, { key: "w", values: [null, true] },
  ]);
  expect(differences([run("a", { x: 1 }), run("b", { x: 1 })])).toEqual([]);
});

test("seeds stand together, and their mean has Student's interval", () => {
  const all = [run("a", { "training.seed": 1, x: 1 }), run("b", { "training.seed": 1, x: 2 }), run("c", { x: 1, "training.seed": 2 })];
  expect(bySeed(all).map((group) => group.map(({ name }) => name))).toEqual([["a", "c"], ["b"]]);
  const mean = meanOf("both", [[[10, 2, 1], [20, 5, 2]], [[12, 4, 1]]]); // seconds differ: updates say what belongs together
  expect(mean.points).toEqual([[11, 3]]);
  const [x, low, high] = mean.band?.[0] ?? [0, 0, 0];
  expect(x).toBe(11);
  expect([low, high]).toEqual([expect.closeTo(3 - 12.706, 9), expect.closeTo(3 + 12.706, 9)]); // s / sqrt(2) = 1
  expect(meanOf("alone", [[[1, 2, 1]]])).toEqual({ name: "alone", points: [[1, 2]] });
});

test("round numbers lie on the axes, powers on a logarithmic one", () => {
  expect(ticksOf(0, 10)).toEqual([0, 2, 4, 6, 8, 10]);
  expect(ticksOf(0.31, 0.58).map((one) => Number(one.toPrecision(6)))).toEqual([0.4, 0.5]);
  const curve = { name: "a", look: lookOf(0), points: [[1, 1], [2, 100], [3, -1]] as const };
  expect(drawn([curve], true).up.map(({ text }) => text)).toEqual(["1", "2", "5", "10", "20", "50", "100"]);
  expect(drawn([curve], true).curves[0]?.dots).toHaveLength(2); // a logarithm has no place for -1
  expect(drawn([curve], false).curves[0]?.dots).toHaveLength(3);
  const nothing = { ...curve, points: [[1, 0], [2, 0]] as const };
  expect(drawn([nothing], true)).toEqual(drawn([nothing], false)); // no logarithm: drawn as it is
  expect([numberText(-0.00002), numberText(1234567), numberText(0)]).toEqual(["−2.0e−5", "1,234,567", "0"]);
  expect(new Set(Array.from({ length: 20 }, (_, place) => JSON.stringify(lookOf(place)))).size).toBe(20);
});

test("curves of one point, of one height and of nothing can be drawn", () => {
  for (const points of [[], [[5, 2]], [[1, 2], [2, 2]], [[1, 1], [2, 1 + 2e-16]], [[1, 1], [2, 1 + 5e-16]]] as const) {
    for (const isLogarithmic of [true, false]) {
      const found = svgOf(drawn([{ name: "<b>", look: lookOf(3), points }], isLogarithmic), { title: "t & u", across: "x", up: "y" });
      expect(found).not.toContain("NaN");
      expect(found).not.toContain("Infinity");
      expect(found).not.toContain("<b>");
      expect(found).toContain("t &amp; u");
    }
  }
});
