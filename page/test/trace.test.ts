import { expect, test } from "vitest";
import { Value, groupOf, grouped, namesOf, summary, type WrittenStep, type WrittenTrace } from "../src/trace/data";
import { numberText, pooled, windowStart } from "../src/trace/numbers";

function base64(values: readonly number[], bytesEach: 4 | 8): string {
  const bytes = new DataView(new ArrayBuffer(bytesEach * values.length));
  values.forEach((value, place) => (bytesEach === 8 ? bytes.setFloat64(8 * place, value, true) : bytes.setFloat32(4 * place, value, true)));
  return btoa(String.fromCharCode(...new Uint8Array(bytes.buffer)));
}

const both = { en: "", zh: "" };
function stepOf(name: string, values: readonly number[], shape: readonly number[], axes: readonly string[], bytesEach: 4 | 8 = 4): WrittenStep {
  return {
    name, title: both, equation: "", source: "", code: "", inputs: [], parameters: [], axes, shape, labels: { key: 0 },
    isWhole: false, areShares: false, isOnPatches: false, isDouble: bytesEach === 8, value: base64(values, bytesEach), printed: [], said: [],
  };
}

test("a value has a matrix for each place on its outer axes", () => {
  const value = new Value(stepOf("a", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], [2, 3, 1, 2], ["batch", "head", "query", "key"]));
  expect([...value.matrix([1, 2])]).toEqual([10, 11]);
  expect([...value.matrix([0, 1])]).toEqual([2, 3]);
  expect([value.rows, value.columns, value.outer]).toEqual([1, 2, [2, 3]]);
});

test("a single number and a vector are matrices; float64 keeps what float32 cannot", () => {
  expect([...new Value(stepOf("a", [1.5], [], [])).matrix([])]).toEqual([1.5]);
  expect(new Value(stepOf("a", [1, 2], [2], ["width"])).rows).toBe(1);
  expect([...new Value(stepOf("a", [1e300, -Infinity], [2], ["width"], 8)).matrix([])]).toEqual([1e300, -Infinity]);
  expect(() => new Value(stepOf("a", [1], [2], ["width"]))).toThrow(RangeError);
});

test("labels of an axis, or its numbers", () => {
  const trace: WrittenTrace = { name: "x", title: both, assumptions: [], names: [["我", "爱"]], steps: [], picture: null };
  const step = stepOf("a", [1, 2], [1, 2], ["query", "key"]);
  expect(namesOf(trace, step, -1)).toEqual(["我", "爱"]);
  expect(namesOf(trace, step, -2)).toEqual(["0"]);
  expect(namesOf(trace, stepOf("a", [1], [], []), -2)).toEqual([""]);
});

test("a window has the chosen place in its middle, where there is room", () => {
  expect([0, 5, 6, 7, 50, 99].map((chosen) => windowStart(chosen, 100, 12))).toEqual([0, 0, 0, 1, 44, 88]);
  expect(windowStart(3, 8, 12)).toBe(0);
});

test("the drawing keeps the number furthest from zero of each pixel", () => {
  const matrix = Float64Array.from([1, -3, 0, 2, 0, 0, -Infinity, 0.5]);
  expect([...pooled({ matrix, rows: 2, columns: 4 }, 1, 2)]).toEqual([-3, 2]);
  expect([...pooled({ matrix, rows: 2, columns: 4 }, 2, 2)]).toEqual([-3, 2, 0, 0.5]);
});

test("numbers as text, and what is said of them all", () => {
  expect([0.5, -0.25, 1e-5, -1e7, 0, -Infinity].map((one) => numberText(one, false))).toEqual(["0.5000", "−0.2500", "1.00e−5", "−1.00e+7", "0.0000", "−∞"]);
  expect(numberText(7, true)).toBe("7");
  expect(summary(Float64Array.from([1, -Infinity, 3]))).toEqual({ least: 1, most: 3, mean: 2 });
  expect(summary(Float64Array.from([-Infinity]))).toBeNull();
});

test("steps that follow one another stand together by their part of the model", () => {
  expect([groupOf("encoder.layers.10.norm"), groupOf("source.ids"), groupOf("logits")]).toEqual(["encoder.layers.10", "source", ""]);
  const steps = ["a.x", "a.y", "b", "a.z"].map((name) => stepOf(name, [1], [], []));
  expect(grouped(steps).map(([group, all]) => [group, all.length])).toEqual([["a", 2], ["", 1], ["a", 1]]);
});
