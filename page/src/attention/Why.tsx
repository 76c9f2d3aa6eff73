// Which pieces of the source a translation comes from, by several methods, and the curve that says which of them is right.
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { t } from "../shell/texts";
import type { Attention, Curve, Method } from "./data";
import { visible } from "../text/words";

const chosen = signal("");
const CHANCE = "random";
const [WIDE, HIGH, LEFT, BOTTOM] = [340, 200, 48, 28];

/** The curves, the best order first. */
export function ranked(curves: readonly Curve[]): readonly Curve[] {
  return [...curves].sort((a, b) => a.area - b.area);
}

function Methods({ curves }: { readonly curves: readonly Curve[] }): JSX.Element {
  return (
    <table class="bars methods">
      <caption>{t("why.methods")}</caption>
      <tbody>
        {curves.map(({ method, area }, place) => (
          <tr key={method}>
            <th scope="row">{method === CHANCE ? method : <button type="button" data-method={method} aria-pressed={chosen.value === method} onClick={() => (chosen.value = method)}>{method}</button>}</th>
            <td class="count">{area.toFixed(2)}</td>
            <td class="muted">{place === 0 && method !== CHANCE ? t("why.best") : ""}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Scores({ of, method }: { readonly of: Attention; readonly method: Method }): JSX.Element {
  const most = Math.max(...method.scores.map(Math.abs), 1e-12);
  return (
    <table class="bars scores">
      <caption>{t("why.scores", { method: method.method })}</caption>
      <tbody>
        {of.sourcePieces.map(({ text }, place) => {
          const score = method.scores[place] ?? 0;
          return (
            <tr key={place}>
              <th scope="row"><bdi>{visible(text)}</bdi></th>
              <td><span class="track"><b class={score < 0 ? "against" : ""} style={{ width: `${((100 * Math.abs(score)) / most).toFixed(1)}%` }} /></span></td>
              <td class="count">{score.toFixed(3).replace("-", "−")}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function path(values: readonly number[], low: number, high: number): string {
  const x = (place: number): number => LEFT + ((WIDE - LEFT - 8) * place) / Math.max(1, values.length - 1);
  const y = (value: number): number => 8 + ((HIGH - BOTTOM - 8) * (high - value)) / Math.max(1e-9, high - low);
  return values.map((value, place) => `${place ? "L" : "M"}${x(place).toFixed(1)} ${y(value).toFixed(1)}`).join("");
}

function Curves({ curve, chance }: { readonly curve: Curve; readonly chance: Curve | undefined }): JSX.Element {
  const all = [...curve.logProbabilities, ...(chance?.logProbabilities ?? [])];
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const title = t("why.curve", { method: curve.method });
  return (
    <figure class="scroll" tabIndex={0} role="region" aria-label={title}>
      <svg class="curve" width={WIDE} height={HIGH} viewBox={`0 0 ${WIDE} ${HIGH}`} role="img" aria-label={title}>
        <line x1={LEFT} y1={HIGH - BOTTOM} x2={WIDE - 8} y2={HIGH - BOTTOM} />
        <line x1={LEFT} y1={8} x2={LEFT} y2={HIGH - BOTTOM} />
        {chance && <path class="chance" d={path(chance.logProbabilities, low, high)} />}
        <path d={path(curve.logProbabilities, low, high)} />
        <text x={LEFT - 6} y={16} text-anchor="end">{high.toFixed(1)}</text>
        <text x={LEFT - 6} y={HIGH - BOTTOM} text-anchor="end">{low.toFixed(1)}</text>
        <text x={WIDE - 8} y={HIGH - 8} text-anchor="end">{t("why.gone")}: {curve.logProbabilities.length - 1}</text>
      </svg>
      <figcaption class="muted">{title}</figcaption>
    </figure>
  );
}

export function Why({ of, ask, isWorking }: { readonly of: Attention; readonly ask: () => void; readonly isWorking: boolean }): JSX.Element {
  const curves = ranked(of.deletion?.curves ?? []);
  const methods = of.attributions?.methods ?? [];
  const name = methods.some(({ method }) => method === chosen.value) ? chosen.value : (curves.find(({ method }) => method !== CHANCE)?.method ?? "");
  const method = methods.find((one) => one.method === name);
  const curve = curves.find((one) => one.method === name);
  return (
    <section class="why-pieces" aria-label={t("why.title")}>
      <h2>{t("why.title")}</h2>
      <p class="where">{t("why.note")}</p>
      {curves.length === 0 && <button type="button" data-tool="why" disabled={isWorking} onClick={ask}>{t("why.ask")}</button>}
      <div class="both">
        {curves.length > 0 && <Methods curves={curves} />}
        {method && <Scores of={of} method={method} />}
        {curve && <Curves curve={curve} chance={curves.find((one) => one.method === CHANCE)} />}
      </div>
    </section>
  );
}
