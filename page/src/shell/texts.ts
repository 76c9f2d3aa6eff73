// Texts in both languages. A test checks that both files have the same keys and the same gaps.
import { signal } from "@preact/signals";
import type { Language } from "./languages";
import en from "../messages/en.json";
import zh from "../messages/zh.json";

export type Key = keyof typeof en;
const TEXTS: Record<Language, Record<Key, string>> = { en, zh };

function preferred(): Language {
  return navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
}

export const language = signal<Language>(preferred());
/** Whether the reader chose the language, so that it belongs into the address. */
export const chosenLanguage = signal(false);

export function isKey(key: string): key is Key {
  return Object.hasOwn(en, key);
}

/** The text of a key, with its gaps filled. Reading it in a component makes the component follow the language. */
export function t(key: Key, gaps: Readonly<Record<string, string | number>> = {}): string {
  return TEXTS[language.value][key].replace(/\{(\w+)\}/g, (gap, name: string) => String(gaps[name] ?? gap));
}

/** The text of a key that is put together; an unknown one is a mistake of the page's. */
export function said(key: string, gaps: Readonly<Record<string, string | number>> = {}): string {
  if (!isKey(key)) throw new RangeError(`no text ${key}`);
  return t(key, gaps);
}
