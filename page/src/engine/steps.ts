// The calculation of chapter 8 as named steps. A name that Python's trace of the example has is that trace's name.
import type { Kind } from "./operations";

/** Which colour an operand has, in matrices and formulas alike; each has its letter as well. */
export type Role = "query" | "key" | "value" | "residual" | "given" | "plain";
export type Axis = "source" | "target" | "width" | "head" | "inner" | "vocabulary" | "position" | "one";
export type Part = "encoder" | "decoder" | "output";

export interface Operand {
  /** A step or a given matrix. */
  readonly ref: string;
  readonly label: string;
  readonly role: Role;
  /** Only these columns, from and to: one head's part. */
  readonly columns?: readonly [number, number];
  readonly transposed?: boolean;
  readonly rows: Axis;
  readonly across: Axis;
}

export interface Step {
  readonly name: string;
  /** Key of the title and the explanation in the texts. */
  readonly title: string;
  readonly head?: number;
  readonly part: Part;
  readonly section: string;
  readonly operation: Kind;
  readonly operands: readonly Operand[];
  readonly equation: string;
  readonly label: string;
  readonly role: Role;
  readonly rows: Axis;
  readonly across: Axis;
}

type Draft = Omit<Step, "part" | "section" | "role"> & { role?: Role };

const HEADS: readonly (readonly [number, number])[] = [[0, 2], [2, 4]];

function of(ref: string, label: string, rows: Axis, across: Axis, more: Partial<Operand> = {}): Operand {
  return { ref, label, rows, across, role: "plain", ...more };
}

function weights(ref: string, label: string, rows: Axis = "width", across: Axis = "width"): Operand {
  return of(ref, label, rows, across, { role: "given" });
}

function within(part: Part, section: string, drafts: readonly Draft[]): Step[] {
  return drafts.map((draft) => ({ role: "plain", ...draft, part, section }));
}

function embedded(side: "source" | "target"): Draft[] {
  return [
    {
      name: `${side}.embedding`, title: "embedding", operation: "lookup", equation: "E = W_e[ids]", label: "E",
      rows: side, across: "width",
      operands: [weights("embedding", "W_e", "vocabulary"), weights(`${side}.ids`, "ids", side, "one")],
    },
    {
      name: `${side}.input`, title: "input", operation: "add", equation: "x = E + PE", label: "x", role: "residual",
      rows: side, across: "width",
      operands: [of(`${side}.embedding`, "E", side, "width"), of("positions", "PE", "position", "width")],
    },
  ];
}

interface Attention {
  readonly prefix: "encoder" | "decoder" | "cross";
  /** Whose positions ask, and the step that holds them; then whose are asked. */
  readonly queries: readonly [Axis, Operand];
  readonly keys: readonly [Axis, Operand];
  readonly masked: boolean;
}

function projections({ prefix, queries, keys }: Attention): Draft[] {
  const titles = prefix === "cross" ? "cross." : "";
  const made = (letter: "Q" | "K" | "V", role: "query" | "key" | "value", [rows, x]: readonly [Axis, Operand]): Draft => ({
    name: `${prefix}.${role}`, title: `${titles}${role}`, operation: "multiply", label: letter, role, rows,
    across: "width", equation: `${letter} = ${x.label} W_${letter.toLowerCase()}`,
    operands: [x, weights(`${prefix}.W_${letter.toLowerCase()}`, `W_${letter.toLowerCase()}`)],
  });
  return [made("Q", "query", queries), made("K", "key", keys), made("V", "value", keys)];
}

/** Head 1 has the names without a number, as in Python's trace. */
function nameOf(prefix: string, what: string, head: number): string {
  return `${prefix}.${what}${head === 1 ? "" : head}`;
}

function scoring({ prefix, queries: [asking], keys: [asked] }: Attention, head: number): Draft[] {
  const columns = HEADS[head - 1] ?? [0, 0];
  const products = nameOf(prefix, "products", head);
  const cut = { columns, transposed: false };
  const operands = [
    of(`${prefix}.query`, `Q_${head}`, asking, "head", { ...cut, role: "query" }),
    of(`${prefix}.key`, `K_${head}^T`, "head", asked, { ...cut, role: "key", transposed: true }),
  ];
  return [
    { name: products, title: "products", head, operation: "multiply", operands, equation: `Q_${head} K_${head}^T`,
      label: `Q_${head} K_${head}^T`, rows: asking, across: asked },
    { name: nameOf(prefix, "scores", head), title: "scores", head, operation: "scale", rows: asking, across: asked,
      equation: `S_${head} = Q_${head} K_${head}^T · 1 / √d_k`, label: `S_${head}`,
      operands: [of(products, `Q_${head} K_${head}^T`, asking, asked), weights("factor", "1 / √d_k", "one", "one")] },
  ];
}

function weighting({ prefix, queries: [asking], keys: [asked], masked }: Attention, head: number): Draft[] {
  const scores = of(nameOf(prefix, "scores", head), `S_${head}`, asking, asked);
  const hidden: Draft = {
    name: nameOf(prefix, "masked", head), title: "masked", head, operation: "masked", label: `S_${head} + M`,
    equation: `S_${head} + M`, rows: asking, across: asked, operands: [scores, of("decoder.mask", "M", asking, asked)],
  };
  const from = masked ? of(hidden.name, hidden.label, asking, asked) : scores;
  const weight: Draft = {
    name: nameOf(prefix, "weights", head), title: "weights", head, operation: "softmax", label: `A_${head}`,
    equation: `A_${head} = softmax(${from.label})`, rows: asking, across: asked, operands: [from],
  };
  const columns = HEADS[head - 1] ?? [0, 0];
  const summed: Draft = {
    name: `${prefix}.head${head}`, title: "head", head, operation: "multiply", label: `A_${head} V_${head}`,
    equation: `head_${head} = A_${head} V_${head}`, rows: asking, across: "head",
    operands: [of(weight.name, `A_${head}`, asking, asked),
      of(`${prefix}.value`, `V_${head}`, asked, "head", { columns, role: "value" })],
  };
  return masked ? [hidden, weight, summed] : [weight, summed];
}

function attended(block: Attention): Draft[] {
  const { prefix, masked, queries: [asking] } = block;
  const mask: Draft = {
    name: "decoder.mask", title: "mask", operation: "mask", label: "M", equation: "M = 0 | −∞", rows: "target",
    across: "target", operands: [of("mask.bits", "mask", "target", "target", { role: "given" })],
  };
  const heads = [1, 2].map((head) => of(`${prefix}.head${head}`, `head_${head}`, asking, "head"));
  return [
    ...projections(block),
    ...scoring(block, 1), ...(masked ? [mask] : []), ...weighting(block, 1),
    ...scoring(block, 2), ...weighting(block, 2),
    { name: `${prefix}.joined`, title: "joined", operation: "concat", equation: "Concat(head_1, head_2)",
      label: "Concat", rows: asking, across: "width", operands: heads },
    { name: `${prefix}.attention`, title: "attention", operation: "multiply", equation: "Concat(head_1, head_2) W_o",
      label: "MultiHead", rows: asking, across: "width",
      operands: [of(`${prefix}.joined`, "Concat", asking, "width"), weights(`${prefix}.W_o`, "W_o")] },
  ];
}

function residual(name: string, normed: string, before: Operand, sublayer: Operand, title = "norm"): Draft[] {
  const sum = `${before.label} + ${sublayer.label}`;
  const rows = before.rows;
  return [
    { name, title: "sum", operation: "add", equation: `s = ${sum}`, label: "s", role: "residual", rows,
      across: "width", operands: [{ ...before, role: "residual" }, sublayer] },
    { name: normed, title, operation: "norm", equation: "γ · (s − μ) / √(σ^2 + ε) + β", label: "LN(s)",
      role: "residual", rows, across: "width",
      operands: [of(name, "s", rows, "width", { role: "residual" }),
        weights(`${normed}.gain`, "γ", "one", "width"), weights(`${normed}.shift`, "β", "one", "width")] },
  ];
}

function feedforward(prefix: "encoder" | "decoder", x: Operand): Draft[] {
  const rows = x.rows;
  return [
    { name: `${prefix}.expanded`, title: "expanded", operation: "affine", equation: "x W_1 + b_1", label: "x W_1 + b_1",
      rows, across: "inner", operands: [x, weights(`${prefix}.W_1`, "W_1", "width", "inner"),
        weights(`${prefix}.b_1`, "b_1", "one", "inner")] },
    { name: `${prefix}.activated`, title: "activated", operation: "relu", equation: "h = max(0, x W_1 + b_1)", label: "h",
      rows, across: "inner", operands: [of(`${prefix}.expanded`, "x W_1 + b_1", rows, "inner")] },
    { name: `${prefix}.feedforward`, title: "feedforward", operation: "affine", equation: "FFN(x) = h W_2 + b_2",
      label: "FFN", rows, across: "width", operands: [of(`${prefix}.activated`, "h", rows, "inner"),
        weights(`${prefix}.W_2`, "W_2", "inner", "width"), weights(`${prefix}.b_2`, "b_2", "one", "width")] },
  ];
}

function predicted(prefix: "" | "bare.", y: Operand): Draft[] {
  const table = of("embedding", "W_e^T", "width", "vocabulary", { transposed: true, role: "given" });
  return [
    { name: `${prefix}logits`, title: `${prefix}logits`, operation: "multiply", equation: `${y.label} W_e^T`,
      label: "logits", rows: "target", across: "vocabulary", operands: [y, table] },
    { name: `${prefix}probabilities`, title: "probabilities", operation: "softmax", equation: "p = softmax(logits)",
      label: "p", rows: "target", across: "vocabulary",
      operands: [of(`${prefix}logits`, "logits", "target", "vocabulary")] },
    { name: `${prefix}prediction`, title: "prediction", operation: "argmax", equation: "argmax(p)", label: "argmax",
      rows: "target", across: "one", operands: [of(`${prefix}probabilities`, "p", "target", "vocabulary")] },
  ];
}

function input(name: string, side: "source" | "target", label = "x"): Operand {
  return of(name, label, side, "width", { role: "residual" });
}

const positions: Draft = {
  name: "positions", title: "positions", operation: "positions", label: "PE", rows: "position", across: "width",
  equation: "PE = sin | cos(pos / 10000^(2i/d))", operands: [weights("positions.on", "on", "one", "one")],
};

function encoder(): Step[] {
  const x = input("source.input", "source");
  const y = input("encoder.norm1", "source");
  const block: Attention = { prefix: "encoder", queries: ["source", x], keys: ["source", x], masked: false };
  return [
    ...within("encoder", "source", [positions, ...embedded("source")]),
    ...within("encoder", "self", [...attended(block),
      ...residual("encoder.sum1", "encoder.norm1", x, of("encoder.attention", "MultiHead", "source", "width"))]),
    ...within("encoder", "feedforward", [...feedforward("encoder", y),
      ...residual("encoder.sum2", "encoder.output", y, of("encoder.feedforward", "FFN", "source", "width"), "memory")]),
  ];
}

function decoder(): Step[] {
  const x = input("target.input", "target");
  const y = input("decoder.norm1", "target");
  const z = input("decoder.norm2", "target");
  const memory = of("encoder.output", "memory", "source", "width");
  const own: Attention = { prefix: "decoder", queries: ["target", x], keys: ["target", x], masked: true };
  const cross: Attention = { prefix: "cross", queries: ["target", y], keys: ["source", memory], masked: false };
  const attention = (prefix: string): Operand => of(`${prefix}.attention`, "MultiHead", "target", "width");
  return [
    ...within("decoder", "target", embedded("target")),
    ...within("decoder", "masked", [...attended(own),
      ...residual("decoder.sum1", "decoder.norm1", x, attention("decoder"))]),
    ...within("decoder", "cross", [...attended(cross), ...residual("decoder.sum2", "decoder.norm2", y, attention("cross"))]),
    ...within("decoder", "feedforward2", [...feedforward("decoder", z),
      ...residual("decoder.sum3", "decoder.output", z, of("decoder.feedforward", "FFN", "target", "width"))]),
  ];
}

export const STEPS: readonly Step[] = [
  ...encoder(),
  ...decoder(),
  ...within("output", "output", predicted("", input("decoder.output", "target", "y"))),
  ...within("output", "bare", predicted("bare.", of("decoder.feedforward", "FFN", "target", "width"))),
];

export const STEP = new Map(STEPS.map((step) => [step.name, step]));
