// The frame of all screens: the bar on top, the screen in view, and the foot of the page.
import type { JSX } from "preact";
import { current, type Screen } from "./address";
import { chosenLanguage, language, t } from "./texts";
import { isDark, theme } from "./theme";

function Switches(): JSX.Element {
  const other = language.value === "zh" ? "en" : "zh";
  const speak = (): void => {
    chosenLanguage.value = true;
    language.value = other;
  };
  return (
    <div class="switches">
      <button type="button" lang={other === "zh" ? "zh-CN" : "en"} onClick={speak}>{t("app.language")}</button>
      <button type="button" aria-pressed={isDark.value} onClick={() => (theme.value = isDark.value ? "light" : "dark")}>{t(isDark.value ? "app.themeLight" : "app.themeDark")}</button>
    </div>
  );
}

function Screens({ all, shown }: { readonly all: readonly Screen[]; readonly shown: Screen }): JSX.Element | null {
  if (all.length < 2) return null;
  return (
    <nav class="screens" aria-label={t("app.screens")}>
      {all.map((one) => (
        <button type="button" key={one.name} data-screen={one.name} aria-current={one === shown ? "page" : undefined} onClick={() => (current.value = one)}>{t(one.label)}</button>
      ))}
    </nav>
  );
}

export function App({ screens, isServed }: { readonly screens: readonly Screen[]; readonly isServed: boolean }): JSX.Element | null {
  const shown = current.value;
  if (!shown) return null;
  const skip = (event: Event): void => {
    event.preventDefault();
    document.getElementById("centre")?.focus();
  };
  return (
    <>
      <a class="skip" href="#centre" onClick={skip}>{t("app.skip")}</a>
      <header class="top">
        <div>
          <p class="brand">openwork <span aria-hidden="true">·</span> {t(shown.label)}</p>
          <h1>{shown.title()}</h1>
        </div>
        <Screens all={screens} shown={shown} />
        <Switches />
      </header>
      <shown.View key={shown.name} />
      <footer>
        <p>{t(isServed ? "app.served" : "app.offline")}</p>
      </footer>
    </>
  );
}
