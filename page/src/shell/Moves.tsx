// Back and next through steps, by buttons and by the keys [ and ].
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { t } from "./texts";

interface MovesProps {
  readonly place: number;
  readonly count: number;
  readonly move: (by: number) => void;
}

export function Moves({ place, count, move }: MovesProps): JSX.Element {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const typing = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
      if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "[") move(-1);
      if (event.key === "]") move(1);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  return (
    <div class="moves">
      <button type="button" data-tool="back" disabled={place === 0} onClick={() => move(-1)} aria-keyshortcuts="[">← {t("nav.back")}</button>
      <span class="progress">
        <span>{t("nav.progress", { n: place + 1, all: count })}</span>
        <progress max={count} value={place + 1} aria-label={t("nav.steps")} />
      </span>
      <button type="button" data-tool="next" disabled={place === count - 1} onClick={() => move(1)} aria-keyshortcuts="]">{t("nav.next")} →</button>
    </div>
  );
}
