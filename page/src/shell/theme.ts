// Light or dark: as the system has it, unless the reader chose.
import { computed, signal } from "@preact/signals";

export type Theme = "light" | "dark";
export const theme = signal<Theme | null>(null);

const dark = matchMedia("(prefers-color-scheme: dark)");
const systemDark = signal(dark.matches);
dark.addEventListener("change", (event) => (systemDark.value = event.matches));
export const isDark = computed(() => (theme.value ?? (systemDark.value ? "dark" : "light")) === "dark");
