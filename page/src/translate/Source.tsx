// The text to translate, with the words behind it lit that the word pointed at comes from.
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { t } from "../shell/texts";
import { highlight, linkedWords } from "./Output";
import { bundle } from "../served/state";
import { lines, pointed, text, translate, write } from "./state";
import { wordsOf, type Word } from "../text/words";

/** How much each word of a source line has to do with what is pointed at, 0 to 1. */
function shares(line: number, words: readonly Word[]): readonly number[] {
  const at = pointed.value;
  const of = lines.value[line]?.value;
  if (!at || at.line !== line || !of) return [];
  if (at.side === "source") return words.map((_, place) => (place === at.word ? 1 : 0));
  return linkedWords(of)?.[at.word]?.weights ?? [];
}

function Lit({ line, source }: { readonly line: number; readonly source: string }): JSX.Element {
  const words = wordsOf(source, bundle.value?.source ?? "");
  const found = shares(line, words);
  const most = Math.max(...found, 0);
  return (
    <>
      {words.map(({ text: word }, place) => {
        const share = found[place] ?? 0;
        const background = word.trim() ? highlight(share) : undefined;
        return background ? <mark key={place} class={share === most ? "most" : ""} style={{ background }}>{word}</mark> : word;
      })}
      {"\n"}
    </>
  );
}

/** The word at the caret is pointed at. */
function followCaret(area: HTMLTextAreaElement): void {
  const before = area.value.slice(0, area.selectionStart);
  const line = before.split("\n").length - 1;
  const at = Array.from(before.slice(before.lastIndexOf("\n") + 1)).length;
  const words = wordsOf(area.value.split("\n")[line] ?? "", bundle.value?.source ?? "");
  const word = words.findIndex(({ start, end, isWord }) => isWord && start <= at && at <= end);
  pointed.value = word < 0 ? null : { line, word, side: "source" };
}

export function Source(): JSX.Element {
  const area = useRef<HTMLTextAreaElement>(null);
  const behind = useRef<HTMLDivElement>(null);
  const scroll = (): void => {
    if (area.current && behind.current) behind.current.scrollTop = area.current.scrollTop;
  };
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void translate();
  };
  return (
    <div class="source">
      <div class="behind" aria-hidden="true" ref={behind} dir="auto">
        {text.value.split("\n").map((source, line) => <Lit key={line} line={line} source={source} />)}
      </div>
      <textarea ref={area} id="source" dir="auto" lang={bundle.value?.source || undefined} spellcheck={false} rows={8} value={text.value}
        aria-label={t("translate.source")} placeholder={t("translate.placeholder")}
        onInput={(event) => write(event.currentTarget.value)} onScroll={scroll} onKeyDown={onKey}
        onSelect={(event) => followCaret(event.currentTarget)} onBlur={() => (pointed.value = null)} />
    </div>
  );
}
