import { expect, test } from "vitest";
import { maximum, mean, rollout } from "../src/attention/combine";
import { read, type Attention, type Weights, type WrittenAttention } from "../src/attention/data";
import { peakOf, scaled } from "../src/attention/along";
import { joined, separated, spaced, unitsOf, withoutSymbols, type Unit } from "../src/attention/levels";

const rows = (...values: number[][]): Weights => values.map((row) => Float64Array.from(row));
const plain = (weights: Weights): number[][] => weights.map((row) => [...row]);

function base64(values: readonly number[]): string {
  const bytes = new DataView(new ArrayBuffer(2 * values.length));
  values.forEach((value, place) => bytes.setUint16(2 * place, Math.round(65535 * value), true));
  return btoa(String.fromCharCode(...new Uint8Array(bytes.buffer)));
}

const written: WrittenAttention = {
  source: "a", translation: "b",
  sourcePieces: [{ text: "a", start: 0, end: 1, special: false }, { text: "</s>", start: null, end: null, special: true }],
  targetPieces: [{ input: "<s>", predicted: "b", logProbability: -0.1, start: 0, end: 1, special: false }],
  maps: [{ kind: "cross", layer: 0, heads: 2, rows: 1, columns: 2, weights: base64([0.25, 0.75, 1, 0]) }],
  facts: [],
};

test("weights are read head by head within half a step of 1 in 65,535", () => {
  const [layer] = read(written).layers;
  expect(layer?.heads.length).toBe(2);
  expect(layer?.heads[0]?.[0]?.[0]).toBeCloseTo(0.25, 4);
  expect(layer?.heads[1]?.[0]?.[0]).toBe(1);
  expect(() => read({ ...written, maps: [{ ...written.maps[0]!, rows: 2 }] })).toThrow(RangeError);
});

test("mean and maximum over heads", () => {
  const heads = [rows([0.2, 0.8]), rows([0.6, 0.4])];
  expect(plain(mean(heads))[0]?.[0]).toBeCloseTo(0.4);
  expect(plain(maximum(heads))).toEqual([[0.6, 0.8]]);
});

// Worked by hand. A = [[1, 0], [0.5, 0.5]] with the residual: R = [[1, 0], [0.25, 0.75]]; R R = [[1, 0], [0.4375, 0.5625]].
test("rollout is the product of the layers with their residuals", () => {
  const layer = (kind: "encoder" | "cross", number: number, weights: Weights): Attention["layers"][number] => ({ kind, layer: number, heads: [weights] });
  const a = rows([1, 0], [0.5, 0.5]);
  const of: Attention = { ...read(written), layers: [layer("encoder", 0, a), layer("encoder", 1, a), layer("cross", 0, rows([0.5, 0.5]))] };
  expect(plain(rollout(of, "encoder", 0))).toEqual([[1, 0], [0.25, 0.75]]);
  expect(plain(rollout(of, "encoder", 1))).toEqual([[1, 0], [0.4375, 0.5625]]);
  expect(plain(rollout(of, "cross", 0))).toEqual([[0.71875, 0.28125]]);
});

test("the flow is there where it was calculated", () => {
  const matrix = { rows: 1, columns: 2, weights: base64([0.5, 1]) };
  const { flow } = read({ ...written, through_layers: { flow: { encoder: null, cross: matrix } } });
  expect(plain(flow.cross ?? []).flat().map((one) => one.toFixed(3))).toEqual(["0.500", "1.000"]);
  expect(flow.encoder).toBeUndefined();
  expect(read(written).flow).toEqual({});
});

const piece = (label: string, start: number | null, end: number | null): { label: string; start: number | null; end: number | null; special: boolean } =>
  ({ label, start, end, special: start === null });

test("words take the pieces that they are made of, and symbols stay at their ends", () => {
  const units = unitsOf("red hats", [piece("re", 0, 2), piece("d", 2, 3), piece(" hats", 3, 8), piece("</s>", null, null)], "word", "en");
  expect(units.map(({ label }) => label)).toEqual(["red", "hats", "</s>"]);
  expect(units[0]?.pieces.map(({ place }) => place)).toEqual([0, 1]);
  expect(units[1]?.pieces).toEqual([{ place: 2, share: 1 }]);
});

test("a piece of several Chinese characters is shared among them", () => {
  const units = unitsOf("我爱猫", [piece("我爱", 0, 2), piece("猫", 2, 3)], "character", "zh");
  expect(units.map(({ label }) => label)).toEqual(["我", "爱", "猫"]);
  expect(units[0]?.pieces).toEqual([{ place: 0, share: 0.5 }]);
});

test("a weight is summed over sources and averaged over queries, so that rows keep their sum", () => {
  const unit = (...places: number[]): Unit => ({ label: "", special: false, pieces: places.map((place) => ({ place, share: 1 })) });
  const found = joined(rows([0.2, 0.3, 0.5], [0.6, 0.2, 0.2]), [unit(0, 1)], [unit(0, 1), unit(2)]);
  expect(found[0]?.[0]).toBeCloseTo(0.65);
  expect(found[0]?.[1]).toBeCloseTo(0.35);
});

test("without symbols a row is divided by what is left", () => {
  const unit = (special: boolean): Unit => ({ label: "", special, pieces: [] });
  const found = withoutSymbols({ weights: rows([0.1, 0.3, 0.6]), rows: [unit(false)], columns: [unit(false), unit(false), unit(true)], isRenormalised: false });
  expect(plain(found.weights)[0]?.[0]).toBeCloseTo(0.25);
  expect(found.isRenormalised).toBe(true);
  expect(withoutSymbols({ ...found, isRenormalised: false }).isRenormalised).toBe(false);
});

test("a reader separates words; other letters are no segmentation of the text", () => {
  const text = "南京市长 江大桥";
  expect(separated(text, "南京 市长 江大桥")).toEqual([{ text: "南京", start: 0, end: 2 }, { text: "市长", start: 2, end: 4 }, { text: "江大桥", start: 5, end: 8 }]);
  expect(separated(text, "南京市 长江 大桥")).toEqual([{ text: "南京市", start: 0, end: 3 }, { text: "长江", start: 3, end: 6 }, { text: "大桥", start: 6, end: 8 }]);
  expect(separated(text, "南京 市长")).toBeNull();
  expect(separated("", "")).toEqual([]);
  expect(separated("𝔞b", "𝔞 b")?.map(({ start, end }) => [start, end])).toEqual([[0, 1], [1, 2]]);
  const pieces = [piece("南京市", 0, 3), piece("长 江大桥", 3, 8), piece("</s>", null, null)];
  const units = unitsOf(text, pieces, "word", "zh", "南京 市长 江大桥");
  expect(units.map(({ label }) => label)).toEqual(["南京", "市长", "江大桥", "</s>"]);
  expect(units[1]?.pieces).toEqual([{ place: 0, share: 1 / 3 }, { place: 1, share: 1 / 4 }]);
  expect(unitsOf(text, pieces, "word", "zh", "other")).toEqual(unitsOf(text, pieces, "word", "zh"));
  expect(separated(text, spaced(text, "zh"))?.length).toBe(spaced(text, "zh").split(" ").length);
});

test("a row along a sound is scaled by its own largest weight within the sound", () => {
  const row = Float64Array.from([0.1, 0.2, 0.05, 0.65]); // the last position is the silence after the sound
  expect(peakOf(row, 3)).toEqual({ weight: 0.2, place: 1 });
  expect([...scaled(row, 3)]).toEqual([0.5, 1, 0.25]);
  expect([...scaled(new Float64Array(3), 2)]).toEqual([0, 0]);
});

test("a piece of white space alone stays a unit, so that no weight is lost", () => {
  const pieces = [piece("a", 0, 1), piece(" ", 1, 2), piece("b", 2, 3), piece("</s>", null, null)];
  for (const level of ["character", "word"] as const) {
    const units = unitsOf("a b", pieces, level, "en");
    expect(units.map(({ label }) => label)).toEqual(["a", "␣", "b", "</s>"]);
    expect([...(joined(rows([0.1, 0.2, 0.3, 0.4]), [units[0]!], units)[0] ?? [])].reduce((sum, one) => sum + one)).toBeCloseTo(1);
  }
});
