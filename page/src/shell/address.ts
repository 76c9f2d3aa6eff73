// The address says what is in view, so that a link leads to it: `#/step?s=encoder.scores&c=1,2&l=zh&t=dark`.
import { batch, effect, signal } from "@preact/signals";
import type { JSX } from "preact";
import { isLanguage } from "./languages";
import { chosenLanguage, language, type Key } from "./texts";
import { theme } from "./theme";

export interface Screen {
  /** As in the address: "step". */
  readonly name: string;
  readonly label: Key;
  readonly View: () => JSX.Element;
  /** The heading of the page, in the language in use. */
  readonly title: () => string;
  /** What is in view, for the address. */
  readonly parameters: () => Readonly<Record<string, string>>;
  /** Shows what an address asks for, as far as it exists. */
  readonly follow: (asked: URLSearchParams) => void;
  /** What makes an entry of the browser's history when it changes; other changes replace the entry. */
  readonly entry?: () => string;
}

export const current = signal<Screen | null>(null);

function address(screen: Screen): string {
  const asked = Object.entries(screen.parameters());
  if (chosenLanguage.value) asked.push(["l", language.value]);
  if (theme.value) asked.push(["t", theme.value]);
  // Commas and letters of all scripts stay readable.
  const written = asked.map(([key, value]) => `${key}=${encodeURIComponent(value).replaceAll("%2C", ",")}`);
  return `#/${screen.name}${written.length ? "?" : ""}${written.join("&")}`;
}

function followAddress(screens: readonly Screen[]): void {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
  const asked = new URLSearchParams(query);
  const [spoken, look] = [asked.get("l"), asked.get("t")];
  const screen = screens.find(({ name }) => name === path) ?? screens[0];
  batch(() => {
    chosenLanguage.value = isLanguage(spoken);
    if (isLanguage(spoken)) language.value = spoken;
    theme.value = look === "light" || look === "dark" ? look : null;
    screen?.follow(asked);
    current.value = screen ?? null;
  });
}

/** Follows the address, writes it, and sets what stands outside the page's own element. */
export function follow(screens: readonly Screen[]): void {
  followAddress(screens);
  addEventListener("hashchange", () => followAddress(screens));
  const entry = (): string => `${current.value?.name} ${current.value?.entry?.() ?? ""}`;
  let shown = entry();
  effect(() => {
    const screen = current.value;
    if (!screen) return;
    const [now, entered] = [address(screen), entry()];
    if (now === location.hash) return;
    if (entered === shown) history.replaceState(null, "", now);
    else history.pushState(null, "", now);
    shown = entered;
  });
  effect(() => {
    const root = document.documentElement;
    root.lang = language.value === "zh" ? "zh-CN" : "en";
    document.title = current.value?.title() ?? "openwork";
    if (theme.value) root.dataset["theme"] = theme.value;
    else delete root.dataset["theme"];
  });
}
