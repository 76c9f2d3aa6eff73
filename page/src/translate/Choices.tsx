// The chosen word: its pieces with their probabilities, and what else could stand there, each with how it would go on.
import type { JSX } from "preact";
import { t } from "../shell/texts";
import type { NextPiece } from "../served/client";
import { visible } from "../text/words";
import { linkedWords } from "./Output";
import { chosen, continueFrom, lines, next, type Line } from "./state";
import { before, type LinkedWord } from "./words";

function Pieces({ word, line }: { readonly word: LinkedWord; readonly line: Line }): JSX.Element {
  const { pieces = [], log_probabilities: logs = [] } = line.translated?.explanation ?? {};
  return (
    <table class="pieces">
      <caption>{t("choices.pieces")}</caption>
      <thead><tr><th scope="col">{t("choices.piece")}</th><th scope="col">{t("choices.probability")}</th></tr></thead>
      <tbody>
        {word.pieces.map((place) => (
          <tr key={place}><th scope="row"><bdi>{visible(pieces[place] ?? "")}</bdi></th><td>{Math.exp(logs[place] ?? NaN).toFixed(4)}</td></tr>
        ))}
      </tbody>
    </table>
  );
}

function Choice({ piece, start, number }: { readonly piece: NextPiece; readonly start: string; readonly number: number }): JSX.Element {
  return (
    <li>
      <button type="button" class="choice" onClick={() => void continueFrom(number, start + piece.piece)}>
        <span class="bar" style={{ width: `${(100 * piece.probability).toFixed(1)}%` }} aria-hidden="true" />
        <span class="piece"><bdi>{visible(piece.piece)}</bdi></span>
        <span class="count">{piece.probability.toFixed(4)}</span>
        <span class="goes-on" dir="auto"><bdi>{piece.text}</bdi></span>
      </button>
    </li>
  );
}

function Chosen({ word, line, number }: { readonly word: LinkedWord; readonly line: Line; readonly number: number }): JSX.Element {
  const explanation = line.translated?.explanation;
  const start = explanation ? before(line.text, word, explanation) : "";
  return (
    <>
      <p class="cell"><bdi>{word.text}</bdi> {word.probability !== undefined && <span class="value">{word.probability.toFixed(4)}</span>}</p>
      <Pieces word={word} line={line} />
      <p><a data-tool="attention" href={`#/attention?q=${encodeURIComponent(line.source)}`}>{t("choices.attention")}</a> · <a data-tool="step" href={`#/step?q=${encodeURIComponent(line.source)}`}>{t("choices.step")}</a> · <a data-tool="beam" href={`#/beam?q=${encodeURIComponent(line.source)}`}>{t("choices.beam")}</a></p>
      <h3>{t("choices.instead")}</h3>
      {next.value === null ? <p class="muted" aria-live="polite">{t("choices.waiting")}</p>
        : next.value.length === 0 ? <p class="muted">{t("choices.none")}</p>
          : <ol class="choices">{next.value.map((piece, place) => <Choice key={place} piece={piece} start={start} number={number} />)}</ol>}
    </>
  );
}

export function Choices(): JSX.Element {
  const at = chosen.value;
  const line = at ? lines.value[at.line]?.value : undefined;
  const word = at && line ? linkedWords(line)?.[at.word] : undefined;
  return (
    <aside class="panel" aria-label={t("choices.title")}>
      <h2>{t("choices.title")}</h2>
      {at && line && word ? <Chosen word={word} line={line} number={at.line} /> : <p class="muted">{t("choices.hint")}</p>}
    </aside>
  );
}
