// The lines of the translation: words underlined by how probable the model found them; a word is chosen to change it.
import type { JSX } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { said, t } from "../shell/texts";
import { bundle } from "../served/state";
import { choose, chosen, pointed, type Line } from "./state";
import { linked, sureness, type LinkedWord } from "./words";
import { wordsOf } from "../text/words";

/** The words of a line that was translated; undefined before. */
export function linkedWords({ source, translated }: Line): readonly LinkedWord[] | undefined {
  if (!translated?.explanation) return undefined;
  const [from, to] = [bundle.value?.source ?? "", bundle.value?.target ?? ""];
  return linked(wordsOf(source, from), wordsOf(translated.text, to), translated.explanation);
}

/** How much of what is pointed at this word of the translation has to do with, 0 to 1. */
function lit(line: number, place: number, word: LinkedWord): number {
  const at = pointed.value;
  if (!at || at.line !== line) return 0;
  if (at.side === "target") return at.word === place ? 1 : 0;
  return word.weights[at.word] ?? 0;
}

export function highlight(share: number): string | undefined {
  return share >= 0.05 ? `color-mix(in srgb, var(--orange) ${Math.round(40 * Math.min(1, share))}%, transparent)` : undefined;
}

function named(word: LinkedWord): string {
  const sure = sureness(word.probability);
  return word.probability === undefined ? word.text : `${word.text}: ${word.probability.toFixed(2)}${sure ? `, ${said(`sure.${sure}`)}` : ""}`;
}

function WordButton({ word, line, place, isStop }: { readonly word: LinkedWord; readonly line: number; readonly place: number; readonly isStop: boolean }): JSX.Element {
  const isChosen = chosen.value?.line === line && chosen.value.word === place;
  const point = (): void => void (pointed.value = { line, word: place, side: "target" });
  const leave = (): void => void (pointed.value = null);
  return (
    <button type="button" class={`word ${sureness(word.probability)}`} tabIndex={isStop ? 0 : -1} data-word={place} aria-pressed={isChosen}
      aria-label={named(word)} title={named(word)} style={{ background: highlight(lit(line, place, word)) ?? "none" }}
      onClick={() => void choose(line, place, word.pieces[0])} onMouseEnter={point} onMouseLeave={leave} onFocus={point} onBlur={leave}>
      {word.text}
    </button>
  );
}

function moveFocus(event: KeyboardEvent, group: HTMLElement | null): void {
  const buttons = [...(group?.querySelectorAll<HTMLElement>("button.word") ?? [])];
  const here = buttons.indexOf(document.activeElement as HTMLElement);
  const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (by === undefined || here < 0) return;
  event.preventDefault();
  buttons[Math.min(Math.max(0, here + by), buttons.length - 1)]?.focus();
}

export function OutputLine({ line, number }: { readonly line: Line; readonly number: number }): JSX.Element {
  const group = useRef<HTMLParagraphElement>(null);
  const found = useMemo(() => linkedWords(line), [line, bundle.value]);
  const language = bundle.value?.target || undefined;
  if (line.problem && !line.text) return <p class="line problem" role="alert">{line.problem}</p>;
  if (!found) return <p class="line partial" dir="auto" lang={language}>{line.text || (line.source.trim() ? "…" : "\u00a0")}</p>;
  const stop = Math.max(0, chosen.value?.line === number ? chosen.value.word : found.findIndex(({ isWord }) => isWord));
  return (
    <>
      <p class="line" dir="auto" lang={language} ref={group} role="group" aria-label={t("translate.line", { n: number + 1 })} onKeyDown={(event) => moveFocus(event, group.current)}>
        {found.map((word, place) => (word.text.trim() ? <WordButton key={place} word={word} line={number} place={place} isStop={place === stop} /> : word.text))}
      </p>
      <Notes line={line} />
    </>
  );
}

/** What the reader must know about a translation: why not to trust it, and the others that were asked for. */
function Notes({ line: { translated, problem } }: { readonly line: Line }): JSX.Element | null {
  if (!translated) return null;
  const said = [
    ...(problem ? [problem] : []), ...translated.flags,
    ...(translated.cut ? [t("translate.cut")] : []),
    ...(translated.finished ? [] : [t("translate.unfinished")]),
    ...(translated.missing.length ? [t("translate.missing", { what: translated.missing.join(" ") })] : []),
  ];
  return (
    <>
      {said.length > 0 && <ul class="flags">{said.map((one, place) => <li key={place}>⚠ {one}</li>)}</ul>}
      {translated.alternatives.length > 0 && (
        <ol class="others" start={2} aria-label={t("translate.others")}>
          {translated.alternatives.map((one, place) => <li key={place} dir="auto"><bdi>{one.text}</bdi> <span class="count">{one.score.toFixed(2)}</span></li>)}
        </ol>
      )}
    </>
  );
}
