// Languages of the page, and sentences that Python wrote in both.
export type Language = "en" | "zh";
export type Both = Readonly<Record<Language, string>>;

export function isLanguage(name: string | null): name is Language {
  return name === "en" || name === "zh";
}
