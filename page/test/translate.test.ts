import { expect, test } from "vitest";
import type { Explanation } from "../src/served/client";
import { wordsOf } from "../src/text/words";
import { before, linked, sureness } from "../src/translate/words";

const texts = (text: string, language = "en"): string[] => wordsOf(text, language).map((word) => word.text);

test("words, with what stands between them, are the text again", () => {
  for (const text of ["Two dogs, one cat.", "", " a  b ", "我爱猫。", "a👩‍👩‍👧b", "שלום world"]) expect(texts(text).join("")).toBe(text);
});

test("Chinese words are found without spaces", () => {
  expect(texts("我们喜欢音乐", "zh")).toEqual(["我们", "喜欢", "音乐"]);
});

test("places count characters, not UTF-16 units", () => {
  const [, , last] = wordsOf("👍 x", "en");
  expect(last).toMatchObject({ text: "x", start: 2, end: 3 });
});

test("a language that no browser knows is no error", () => {
  expect(texts("a b", "not a language!")).toEqual(["a", " ", "b"]);
});

// "red hats" -> "rote Hüte" of the pieces "rot", "e", " Hüte"; the second source piece is " hats".
const EXPLANATION: Explanation = {
  pieces: ["rot", "e", " Hüte", "</s>"],
  log_probabilities: [Math.log(0.5), Math.log(0.8), Math.log(0.9), Math.log(0.99)],
  alignment: { source: [[0, 3], [3, 8]], target: [[0, 3], [3, 4], [4, 9]], weights: [[0.7, 0.1], [0.5, 0.3], [0.2, 0.6]] },
};

test("a word's weights are the mean over its pieces, and its probability is their product", () => {
  const [red, , hats] = linked(wordsOf("red hats", "en"), wordsOf("rote Hüte", "de"), EXPLANATION);
  expect(red?.pieces).toEqual([0, 1]);
  expect(red?.probability).toBeCloseTo(0.4);
  expect(red?.weights[0]).toBeCloseTo(0.6);
  expect(red?.weights[2]).toBeCloseTo(0.2);
  expect(hats?.pieces).toEqual([2]); // its piece begins with the space before it
  expect(hats?.probability).toBeCloseTo(0.9);
});

test("what stays before a chosen word ends where its first piece begins", () => {
  const [red, , hats] = linked(wordsOf("red hats", "en"), wordsOf("rote Hüte", "de"), EXPLANATION);
  expect(before("rote Hüte", hats!, EXPLANATION)).toBe("rote");
  expect(before("rote Hüte", red!, EXPLANATION)).toBe("");
});

test("without an alignment words have no probability", () => {
  const none = { pieces: [], log_probabilities: [], alignment: { source: [], target: [], weights: [] } };
  expect(linked(wordsOf("a", "en"), wordsOf("b", "de"), none)[0]).toMatchObject({ probability: undefined, weights: [0] });
  expect(sureness(undefined)).toBe("");
});

test.each([[0.7, "sure"], [0.69, "less"], [0.3, "less"], [0.29, "doubtful"]] as const)("%f is %s", (probability, sure) => {
  expect(sureness(probability)).toBe(sure);
});
