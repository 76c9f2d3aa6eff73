// What is in view of a search: the step until which it is replayed, and the chosen node.
import { batch, computed, signal } from "@preact/signals";
import { lastStep, pathOf, type SearchTree } from "./data";
import { isShown, placed } from "./layout";

export const tree = signal<SearchTree | null>(null);
export const step = signal(0);
export const chosen = signal(0);
export const withDropped = signal(false);
/** What an address asked for before there was a search. */
let wanted: { readonly step: number; readonly node: number | undefined } | null = null;

export const last = computed(() => (tree.value ? lastStep(tree.value) : 0));
export const shown = computed(() => (tree.value ? placed(tree.value, step.value, withDropped.value) : []));
/** Whether the whole search is in view: which hypothesis is the best is known at its end. */
export const isWhole = computed(() => step.value === last.value);
/** The nodes of the best finished hypothesis; none before the end. */
export const best = computed(() => {
  const [first] = isWhole.value ? (tree.value?.finished ?? []) : [];
  return new Set(tree.value && first ? pathOf(tree.value, first.node).map(({ id }) => id) : []);
});

export function take(found: SearchTree): void {
  batch(() => {
    tree.value = found;
    step.value = Math.min(wanted?.step ?? last.value, last.value);
    choose(wanted?.node ?? found.finished[0]?.node ?? 0);
    wanted = null;
  });
}

/** Chooses a node; one that is not in view yet is not chosen. */
export function choose(id: number): void {
  const node = tree.value?.nodes[id];
  chosen.value = node && isShown(node, step.value, withDropped.value) ? id : 0;
}

export function replay(to: number): void {
  batch(() => {
    step.value = Math.min(Math.max(0, to), last.value);
    choose(chosen.value);
  });
}

export function parameters(): Record<string, string> {
  if (!tree.value) return {};
  return { s: String(step.value), n: String(chosen.value), ...(withDropped.value && { a: "1" }) };
}

export function follow(asked: URLSearchParams): void {
  const number = (name: string, otherwise: number): number => Math.max(0, Number.parseInt(asked.get(name) ?? "", 10)) || otherwise;
  batch(() => {
    withDropped.value = asked.has("a");
    const [to, node] = [asked.has("s") ? number("s", 0) : last.value, number("n", 0)];
    const source = asked.get("q");
    if (tree.value && (source === null || source === tree.value.source)) {
      replay(to);
      if (asked.has("n")) choose(node);
    } else wanted = { step: asked.has("s") ? to : Infinity, node: asked.has("n") ? node : undefined };
  });
}
