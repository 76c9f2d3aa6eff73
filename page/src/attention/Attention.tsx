// The Attention screen: every layer, head and kind of a translation, one of them large.
import { computed, signal } from "@preact/signals";
import type { JSX } from "preact";
import type { Screen } from "../shell/address";
import { Files } from "../files/Files";
import { said, t } from "../shell/texts";
import { AskLine, ask, type Asking } from "../served/AskLine";
import { bundle } from "../served/state";
import { firstLine } from "../translate/state";
import { KINDS, type Attention, type WrittenAttention } from "./data";
import { csvOf, svgOf, type Titles } from "./drawing";
import { HeatMap } from "./HeatMap";
import { LEVELS, separated, spaced, type Shown } from "./levels";
import { Lines } from "./Lines";
import { OnPicture } from "./OnPicture";
import { Panel } from "./Panel";
import { pictureSvg, soundSvg } from "./pictured";
import { Spectrogram } from "./Spectrogram";
import { TOGETHER, asLines, attention, follow, heads, kind, languages, layer, level, parameters, shown, symbolsHidden, take, together, words, type Heads } from "./state";
import { Thumbnails } from "./Thumbnails";
import { Why } from "./Why";

const asking: Asking = { isWorking: signal(false), problem: signal("") };
const { isWorking } = asking;
const layerCount = computed(() => attention.value?.layers.filter((one) => one.kind === kind.value).length ?? 0);
const headCount = computed(() => attention.value?.layers.find((one) => one.kind === kind.value && one.layer === layer.value)?.heads.length ?? 0);

/** Asks for the attention of a line, and for more of it. */
function askFor(written: string, more: Readonly<Record<string, unknown>> = {}): void {
  const { name = "", source = "", target = "" } = bundle.value ?? {};
  void ask<WrittenAttention>(asking, "/v1/attention", { bundle: name, text: written, ...more }, (found) => {
    const before = attention.value?.source === written ? kept(attention.value) : {};
    take({ ...before, ...found }, source, target);
  });
}

/** What was asked for before, of the same line. */
function kept({ attributions, deletion, without }: Attention): Partial<WrittenAttention> {
  return { ...(attributions && { attributions }), ...(deletion && { deletion }), ...(without && { without }) };
}

/** A switch that removes the head in view and translates again. */
function Remove({ of }: { readonly of: Attention }): JSX.Element | null {
  const head = `${kind.value}:${layer.value}:${heads.value}`;
  const { without } = of;
  return (
    <>
      {typeof heads.value === "number" && (
        <button type="button" data-tool="remove" disabled={isWorking.value} onClick={() => askFor(of.source, { without: head })}>{t("remove.ask")}</button>
      )}
      {without && (
        <p class="without" role="status">
          {t("remove.found", { head: without.head })} <bdi>{without.translation}</bdi>
          {without.translation === of.translation && <span class="muted"> ({t("remove.same")})</span>}
        </p>
      )}
    </>
  );
}

/** Where the reader separates words otherwise than the browser's dictionary does. */
function Words({ of }: { readonly of: Attention }): JSX.Element {
  const isText = !of.sound && !of.picture;
  const sides = [[of.source, "attention.wordsOfSource"], [of.translation, "attention.wordsOfTranslation"]] as const;
  const write = (side: number, text: string): void => {
    const [first, second] = words.value;
    words.value = side === 0 ? [text, second] : [first, text];
  };
  return (
    <details class="own-words">
      <summary>{t("attention.ownWords")}</summary>
      {sides.map(([text, key], side) => {
        if (side === 0 && !isText) return null;
        const written = words.value[side] ?? "";
        const isWrong = written.trim() !== "" && separated(text, written) === null;
        return (
          <label key={key}>{t(key)}
            <input dir="auto" autocomplete="off" data-words={side} aria-invalid={isWrong} value={written || spaced(text, languages.value[side] ?? "")} onInput={(event) => write(side, event.currentTarget.value)} />
            {isWrong && <span class="problem" role="status">{t("attention.otherLetters")}</span>}
          </label>
        );
      })}
    </details>
  );
}

function Ask(): JSX.Element {
  return <AskLine asking={asking} first={attention.value?.source ?? firstLine()} button={t("attention.show")} onAsk={(line) => askFor(line)} />;
}

function pickHeads(value: string): void {
  heads.value = (TOGETHER as readonly string[]).includes(value) ? (value as Heads) : Number(value);
}

function numbered(count: number, name: (number: number) => string): JSX.Element[] {
  return Array.from({ length: count }, (_, number) => <option key={number} value={number}>{name(number + 1)}</option>);
}

function Controls(): JSX.Element {
  return (
    <section class="tools" aria-label={t("attention.controls")}>
      <label>{t("attention.kind")} <select value={kind.value} onChange={(event) => (kind.value = event.currentTarget.value as typeof kind.value)}>
        {KINDS.map((name) => <option key={name} value={name}>{said(`kind.${name}`)}</option>)}
      </select></label>
      <label>{t("attention.layer")} <select value={layer.value} onChange={(event) => (layer.value = Number(event.currentTarget.value))}>{numbered(layerCount.value, String)}</select></label>
      <label>{t("attention.heads")} <select value={String(heads.value)} onChange={(event) => pickHeads(event.currentTarget.value)}>
        {together.value.map((name) => <option key={name} value={name}>{said(`heads.${name}`)}</option>)}
        {numbered(headCount.value, (number) => t("attention.one", { n: number }))}
      </select></label>
      <label>{t("attention.level")} <select value={level.value} onChange={(event) => (level.value = event.currentTarget.value as typeof level.value)}>
        {LEVELS.map((name) => <option key={name} value={name}>{said(`level.${name}`)}</option>)}
      </select></label>
      <button type="button" data-tool="symbols" aria-pressed={symbolsHidden.value} onClick={() => (symbolsHidden.value = !symbolsHidden.value)}>{t("attention.hide")}</button>
      <button type="button" data-tool="lines" aria-pressed={asLines.value} onClick={() => (asLines.value = !asLines.value)}>{t("attention.asLines")}</button>
    </section>
  );
}

function titles(): Titles {
  const name = typeof heads.value === "number" ? t("attention.one", { n: heads.value + 1 }) : said(`heads.${heads.value}`);
  return {
    title: `${said(`kind.${kind.value}`)}, ${t("attention.layer")} ${layer.value + 1}, ${name}`,
    rows: said(`rows.${kind.value}`), columns: said(`columns.${kind.value}`), scale: t("attention.weight"),
  };
}

function Saved({ of }: { readonly of: Shown }): JSX.Element {
  const name = `attention-${kind.value}-${layer.value + 1}-${typeof heads.value === "number" ? heads.value + 1 : heads.value}`;
  return <Files name={name} csv={() => csvOf(of)} svg={() => figureOf(of)} />;
}

function figureOf(of: Shown): string {
  const { sound, picture } = attention.value ?? {};
  if (kind.value === "cross" && sound) return soundSvg(of, sound, { title: titles().title, scale: t("attention.alongTime") });
  if (kind.value === "cross" && picture) return pictureSvg(of, picture, { title: titles().title, scale: t("attention.onPatches") });
  return svgOf(of, titles());
}

/** The map: over what was read where that is a sound or a picture. */
function LargeMap({ of }: { readonly of: Shown }): JSX.Element {
  const { sound, picture } = attention.value ?? {};
  if (asLines.value) return <Lines {...of} />;
  if (sound && kind.value === "cross") return <Spectrogram shown={of} sound={sound} />;
  return picture && kind.value === "cross" ? <OnPicture shown={of} picture={picture} /> : <HeatMap {...of} />;
}

function Large({ of }: { readonly of: Shown }): JSX.Element {
  const { title, rows, columns } = titles();
  return (
    <>
      <h2>{title}</h2>
      <p class="where">{t("attention.axes", { rows, columns })}</p>
      {of.isRenormalised && <p><span class="badge">{t("attention.renormalised")}</span></p>}
      {level.value !== "piece" && <p class="where">{t("attention.joined")}</p>}
      {level.value === "word" && attention.value && <Words of={attention.value} />}
      {heads.value === "rollout" && <p class="where">{t("attention.rollout")}</p>}
      {heads.value === "flow" && <p class="where">{t("attention.flow")}</p>}
      <LargeMap of={of} />
      <Saved of={of} />
    </>
  );
}

function AttentionView(isServed: boolean): JSX.Element {
  const [of, large] = [attention.value, shown.value];
  return (
    <>
      {of && <Controls />}
      <div class="attention">
        {of && <Thumbnails of={of} />}
        <main class="centre" id="centre" tabIndex={-1}>
          {isServed && <Ask />}
          {of && <p class="pair"><bdi lang={bundle.value?.source || undefined}>{of.source}</bdi> → <bdi lang={bundle.value?.target || undefined}>{of.translation}</bdi></p>}
          {of && (isServed || of.without) && <Remove of={of} />}
          {large ? <Large of={large} /> : <p class="muted">{t("attention.empty")}</p>}
          {of && (isServed || of.deletion) && <Why of={of} ask={() => askFor(of.source, { why: true })} isWorking={isWorking.value} />}
        </main>
        {large && <Panel shown={large} ofPieces={level.value === "piece" && !symbolsHidden.value} />}
      </div>
    </>
  );
}

export interface AttentionContent extends WrittenAttention {
  readonly languages: readonly [string, string];
}

/** Takes the weights in the page; without any, a sentence is asked of the server. */
export function attentionScreen(content: AttentionContent | undefined, isServed: boolean): Screen {
  if (content) take(content, ...content.languages);
  const sentence = (): string => (isServed ? (attention.value?.source ?? "") : "");
  const followAndAsk = (asked: URLSearchParams): void => {
    follow(asked);
    const written = asked.get("q");
    if (isServed && written?.trim() && written !== sentence()) askFor(written);
  };
  return {
    name: "attention", label: "app.attention", View: () => AttentionView(isServed), title: () => t("attention.title"),
    parameters: () => ({ ...parameters(), ...(sentence() && { q: sentence() }) }), follow: followAndAsk,
    entry: () => `${kind.value} ${layer.value} ${heads.value}`,
  };
}
