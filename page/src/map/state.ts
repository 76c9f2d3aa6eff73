// What is in view of the maps: the model and its chosen box. A page of a server asks for maps that it does not have.
import { batch, computed, signal } from "@preact/signals";
import { client, sentenceOf } from "../served/state";
import { boxOf, read, type ModelMap, type WrittenMaps } from "./content";
import { figure } from "./layout";

export const REFERENCE = "paper-base";
/** A bundle of the server's, as the address names it. */
const BUNDLE = "bundle:";

let first = "";
let isServed = false;

export const family = signal<Readonly<Record<string, string>>>({});
export const maps = signal<Readonly<Record<string, ModelMap>>>({});
export const wanted = signal("");
export const slot = signal("");
export const problem = signal("");
/** The maps that the server was asked for and has not answered yet. */
const asked = signal<readonly string[]>([]);
export const isWorking = computed(() => asked.value.length > 0);

export const model = computed<ModelMap | undefined>(() => maps.value[wanted.value] ?? (wanted.value === "" ? maps.value[first] : undefined));
export const reference = computed<ModelMap | undefined>(() => maps.value[REFERENCE] ?? model.value);
export const drawn = computed(() => (model.value && reference.value ? figure(model.value, reference.value) : null));
export const box = computed(() => model.value && (boxOf(model.value, slot.value) ?? model.value.boxes[0]));

export const nameOfBundle = (bundle: string): string => BUNDLE + bundle;

/** Takes maps under their names, a bundle's under its name in the address. */
export function take(written: WrittenMaps, bundle?: string): void {
  const found = read(written).map((one) => [bundle === undefined ? one.name : nameOfBundle(bundle), one] as const);
  batch(() => {
    first ||= found[0]?.[0] ?? "";
    maps.value = { ...maps.value, ...Object.fromEntries(found) };
    family.value = written.family;
  });
}

/** Whether maps are asked of a server. */
export function begin(served: boolean): void {
  isServed = served;
}

async function ask(name: string): Promise<void> {
  const bundle = name.startsWith(BUNDLE) ? name.slice(BUNDLE.length) : undefined;
  const body = bundle === undefined ? { preset: name } : { bundle };
  take(await client.ask<WrittenMaps>("/v1/map", body, AbortSignal.timeout(60_000)), bundle);
}

/** Asks for those of these maps that are neither there nor asked for. */
export async function load(names: readonly string[]): Promise<void> {
  const missing = names.filter((name) => !maps.value[name] && !asked.value.includes(name));
  if (!isServed || missing.length === 0) return;
  asked.value = [...asked.value, ...missing];
  problem.value = "";
  await Promise.all(missing.map(async (name) => {
    try {
      await ask(name);
    } catch (error) {
      problem.value = sentenceOf(error);
    }
    asked.value = asked.value.filter((one) => one !== name);
  }));
}

/** Shows a model; the chosen box stays where the model has it. */
export function show(name: string): void {
  wanted.value = name;
  void load([name]);
}

export function choose(name: string): void {
  slot.value = name;
}

export function parameters(): Record<string, string> {
  return { ...(wanted.value && { m: wanted.value }), ...(box.value && slot.value && { b: box.value.slot }) };
}

export function follow(address: URLSearchParams): void {
  batch(() => {
    const name = address.get("m") ?? "";
    wanted.value = isServed || name in maps.value ? name : "";
    slot.value = address.get("b") ?? "";
  });
}
