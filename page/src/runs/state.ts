// What is in view of the runs: which are shown, over what, and which figure. A served page reads them again and again.
import { batch, computed, signal } from "@preact/signals";
import { client, sentenceOf } from "../served/state";
import { lookOf, type Look } from "./plot";
import { figuresOf, type Across, type Figure, type Run } from "./data";

/** So many runs are shown at first: those that were written last. */
const FIRST = 8;
const SEPARATOR = "//"; // no name has it: names are paths
export const SMOOTHINGS = [0, 0.6, 0.9] as const;

export const runs = signal<readonly Run[]>([]);
export const problem = signal("");
/** The names of the shown runs; null before the reader chose. */
export const chosen = signal<readonly string[] | null>(null);
export const across = signal<Across>("step");
export const wantedFigure = signal("");
export const smoothing = signal(0);
export const isLogarithmic = signal(false);
export const isBySeed = signal(false);
export const filter = signal("");
/** When the server was asked last, in seconds since 1970. */
export const now = signal(Date.now() / 1000);

const firstShown = computed(() => [...runs.value].sort((one, other) => (other.updated ?? 0) - (one.updated ?? 0)).slice(0, FIRST).map(({ name }) => name));
export const shown = computed(() => runs.value.filter(({ name }) => (chosen.value ?? firstShown.value).includes(name)));
export const figures = computed(() => figuresOf(shown.value));
/** The figure that the first shown run chooses its best checkpoint by, unless the reader wants another. */
export const figure = computed<Figure>(() => {
  const known = figures.value;
  return known.find((one) => one === wantedFigure.value) ?? known.find((one) => one === shown.value[0]?.metric) ?? known[0] ?? "loss";
});

/** A run keeps its look whatever others are shown. */
export function look(name: string): Look {
  return lookOf(runs.value.findIndex((one) => one.name === name));
}

export function tick(name: string): void {
  const names = shown.value.map((one) => one.name);
  chosen.value = names.includes(name) ? names.filter((one) => one !== name) : [...names, name];
}

export async function refresh(): Promise<void> {
  try {
    const found = await client.read<readonly Run[]>("/v1/runs", AbortSignal.timeout(30_000));
    batch(() => {
      runs.value = found;
      problem.value = "";
    });
  } catch (error) {
    problem.value = sentenceOf(error);
  }
  now.value = Date.now() / 1000;
}

export function parameters(): Record<string, string> {
  return {
    ...(chosen.value && { r: chosen.value.join(SEPARATOR) }),
    ...(across.value === "seconds" && { x: "seconds" }),
    ...(wantedFigure.value && { f: wantedFigure.value }),
    ...(smoothing.value && { s: String(smoothing.value) }),
    ...(isLogarithmic.value && { log: "1" }),
    ...(isBySeed.value && { seeds: "1" }),
  };
}

export function follow(address: URLSearchParams): void {
  batch(() => {
    const names = address.get("r");
    chosen.value = names === null ? null : names.split(SEPARATOR);
    across.value = address.get("x") === "seconds" ? "seconds" : "step";
    wantedFigure.value = address.get("f") ?? "";
    smoothing.value = SMOOTHINGS.find((one) => String(one) === address.get("s")) ?? 0;
    isLogarithmic.value = address.get("log") === "1";
    isBySeed.value = address.get("seeds") === "1";
  });
}
