import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { fromPython, read, type WrittenContent } from "../src/step/content";
import { Engine, dependants, isMasked, uses } from "../src/engine/engine";
import { formula } from "../src/engine/formula";
import { PRESETS, isOn, toggle } from "../src/engine/presets";
import { STEP, STEPS, type Step } from "../src/engine/steps";

const written = JSON.parse(readFileSync(new URL("content.json", import.meta.url), "utf8")) as WrittenContent;
const content = read(written);
const engine = (): Engine => new Engine(content.given);
const step = (name: string): Step => STEP.get(name) ?? expect.fail(name);

function everything(made: Engine): Map<string, unknown> {
  return new Map(STEPS.map(({ name }) => [name, made.value(name)]));
}

test("every step equals Python's", () => {
  const made = engine();
  const differences = STEPS.map(({ name }) => fromPython(content, name, made.value(name)) ?? Infinity);
  console.log(`${STEPS.length} steps; largest difference from Python: ${Math.max(...differences)}`);
  STEPS.forEach(({ name }, place) => expect(differences[place], name).toBeLessThanOrEqual(1e-9));
});

test("every step of Python's trace is a step here, but for the bound, which is not one of the model", () => {
  const names = written.trace.steps.map(({ name }) => name);
  expect(names.filter((name) => !STEP.has(name))).toEqual(["bound"]);
});

test("a wrong value is told from a right one", () => {
  const made = engine();
  made.edit("encoder.W_q", 0, 0, 1.001);
  expect(fromPython(content, "encoder.query", made.value("encoder.query"))).toBeGreaterThan(1e-4);
  expect(fromPython(content, "encoder.key", made.value("encoder.key"))).toBeLessThan(1e-12);
});

test.each(Object.keys(content.given))("an edit of %s calculates what depends on it, and nothing else", (name) => {
  const made = engine();
  everything(made);
  made.calculated.clear();
  made.edit(name, 0, 0, name.endsWith("ids") ? 9 : name === "mask.bits" ? 0 : 0.123);
  everything(made);
  expect(new Set(made.calculated.keys())).toEqual(dependants(name));
  expect([...made.calculated.values()].every((times) => times === 1)).toBe(true);
});

test("undo takes everything back bit for bit, and reset is undone as well", () => {
  const made = engine();
  const first = everything(made);
  made.edit("encoder.W_q", 1, 2, 0.7);
  const second = everything(made);
  toggle(made, "mask");
  made.reset();
  expect(everything(made)).toEqual(first);
  made.undo();
  made.undo();
  expect(everything(made)).toEqual(second);
  made.undo();
  expect(everything(made)).toEqual(first);
  expect(made.canUndo).toBe(false);
  expect(made.edited).toEqual([]);
});

test("rows of weights and probabilities add up to 1 under every preset", () => {
  for (const preset of PRESETS) {
    const made = engine();
    toggle(made, preset);
    expect(isOn(made, preset)).toBe(true);
    for (const { name } of STEPS.filter(({ operation }) => operation === "softmax")) {
      for (const row of made.value(name)) expect(row.reduce((sum, value) => sum + value, 0)).toBeCloseTo(1, 12);
    }
    toggle(made, preset);
    expect(made.edited).toEqual([]);
  }
});

test("what the presets do", () => {
  const made = engine();
  toggle(made, "uniform");
  expect(made.value("encoder.weights")[0]).toEqual([1 / 3, 1 / 3, 1 / 3]);
  expect(made.value("decoder.weights")[1]).toEqual([0.5, 0.5, 0, 0]);
  toggle(made, "positions");
  expect(made.value("source.input")).toEqual(made.value("source.embedding"));
  toggle(made, "scale");
  expect(made.value("encoder.scores")).toEqual(made.value("encoder.products"));
});

test("masked cells are known in the mask, the scores and the weights; a row without any open cell gets zeros", () => {
  const made = engine();
  for (const name of ["decoder.mask", "decoder.masked", "decoder.weights", "decoder.masked2", "decoder.weights2"]) {
    expect(isMasked(made, name, 0, 1), name).toBe(true);
    expect(isMasked(made, name, 1, 0), name).toBe(false);
  }
  made.edit("mask.bits", 0, 0, 0);
  expect(made.value("decoder.weights")[0]).toEqual([0, 0, 0, 0]);
  expect(made.value("probabilities").flat().every(Number.isFinite)).toBe(true);
});

test("the sources of a cell are what it changes with", () => {
  const made = engine();
  for (const one of STEPS.filter(({ operation }) => !["lookup", "argmax", "mask", "positions"].includes(operation))) {
    const places = new Set(made.sources(one, 0, 0).map((place) => `${place.operand}:${place.row}:${place.column}`));
    one.operands.forEach(({ ref }, operand) => {
      made.operands(one)[operand]?.forEach((cells, row) =>
        cells.forEach((_, column) => {
          const found = uses(made, ref, ...origins(one, operand, row, column)).find((use) => use.step.name === one.name);
          const goes = found?.cells.some(([r, c]) => r === 0 && c === 0) ?? false;
          if (places.has(`${operand}:${row}:${column}`)) expect(goes, `${one.name} ${ref}`).toBe(true);
        }),
      );
    });
  }
});

function origins(one: Step, operand: number, row: number, column: number): [number, number] {
  const found = one.operands[operand];
  const [first, second] = found?.transposed ? [column, row] : [row, column];
  return [first, second + (found?.columns?.[0] ?? 0)];
}

test("every formula ends in the value, and its numbers are the cells' own", () => {
  const made = engine();
  for (const one of STEPS) {
    const operands = made.operands(one);
    made.value(one.name).forEach((cells, row) =>
      cells.forEach((value, column) => {
        const lines = formula(one, operands, row, column, value);
        const terms = lines.flatMap((line) => line.terms);
        const numbers = terms.filter((term) => typeof term !== "string");
        expect(terms.some((term) => (typeof term === "string" ? term.endsWith(String(value)) : term.value === value))).toBe(true);
        for (const { value: number, place } of numbers) {
          if (place) expect(operands[place.operand]?.[place.row]?.[place.column], one.name).toBe(number);
        }
      }),
    );
  }
});

test("the formula of a product adds up to its value", () => {
  const made = engine();
  const [line] = formula(step("encoder.products"), made.operands(step("encoder.products")), 0, 1, 0);
  const numbers = line?.terms.filter((term) => typeof term !== "string").map((term) => term.value) ?? [];
  const sum = (numbers[0] ?? 0) * (numbers[1] ?? 0) + (numbers[2] ?? 0) * (numbers[3] ?? 0);
  expect(sum).toBeCloseTo(made.value("encoder.products")[0]?.[1] ?? NaN, 12);
});
