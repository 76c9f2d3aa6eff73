// The server of this page: its translators, the chosen one, and the token that it may ask for.
import { computed, signal } from "@preact/signals";
import { Client, type Bundle, type Served } from "./client";

export const client = new Client();
export let needsToken = false;
export const bundles = signal<readonly Bundle[]>([]);
export const problem = signal("");
export const token = signal("");
export const bundleName = signal("");
export const bundle = computed<Bundle | undefined>(() => bundles.value.find(({ name }) => name === bundleName.value) ?? bundles.value[0]);

export function begin(given: Served): void {
  needsToken = given.needsToken;
  bundles.value = given.bundles;
}

/** Asks with this token from now on, first for the translators. */
export async function take(given: string): Promise<void> {
  token.value = client.token = given.trim();
  try {
    bundles.value = await client.bundles(AbortSignal.timeout(30_000));
    problem.value = "";
  } catch (error) {
    bundles.value = [];
    problem.value = sentenceOf(error);
  }
}

export function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
