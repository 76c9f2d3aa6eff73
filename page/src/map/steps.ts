// The step of the worked example that shows what a box calculates.
const STEPS: Readonly<Record<string, string>> = {
  "source.embedding": "source.embedding",
  "source.positions": "source.input",
  "encoder.self_attention": "encoder.scores",
  "encoder.self_attention.add": "encoder.norm1",
  "encoder.feedforward": "encoder.expanded",
  "encoder.feedforward.add": "encoder.output",
  "target.embedding": "target.embedding",
  "target.positions": "target.input",
  "decoder.self_attention": "decoder.masked",
  "decoder.self_attention.add": "decoder.norm1",
  "decoder.cross_attention": "cross.scores",
  "decoder.cross_attention.add": "decoder.norm2",
  "decoder.feedforward": "decoder.expanded",
  "decoder.feedforward.add": "decoder.output",
  output: "logits",
  softmax: "probabilities",
};

/** Its name; none for what the example does not have. */
export function stepOf(slot: string): string | undefined {
  return STEPS[slot.replace(/\.norm$/, ".add")];
}
