// The figure: a button for each box, what the model lacks as a dashed outline, and the ways of the vectors.
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { said, t, type Key } from "../shell/texts";
import { totals, weightsOf, type ModelMap } from "./content";
import { BOX, COLUMN, FRAME, crossings, flows, neighbour, residuals, type Figure, type Move, type Place } from "./layout";
import { box as chosen, choose } from "./state";

const MOVES: Readonly<Record<string, Move>> = { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right" };
const MIDDLE = BOX.width / 2;

/** What is read and written at the foot and the head of a column. */
function inputOf({ settings: { kind } }: ModelMap): Key {
  if (kind === "whisper") return "map.sound";
  return kind === "vit" || kind === "cnn" || kind === "captioner" ? "map.picture" : "map.source";
}

function Arrow({ path, role }: { readonly path: string; readonly role?: string }): JSX.Element {
  return <path d={path} class={role ? `way ${role}` : "way"} marker-end={`url(#head-${role ?? "plain"})`} />;
}

function Heads(): JSX.Element {
  return (
    <defs>
      {["plain", "residual", "key", "value"].map((role) => (
        <marker key={role} id={`head-${role}`} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">
          <path d="M0 0.5 8 4 0 7.5Z" class={`head ${role}`} />
        </marker>
      ))}
    </defs>
  );
}

function Residual({ from, to }: { readonly from: Place; readonly to: Place }): JSX.Element {
  const start = from.y + BOX.height + 8;
  // The source's on the left, the target's on the right, where no crossing is.
  const edge = from.side === "source" ? from.x - 10 : from.x + BOX.width + 10;
  const end = from.side === "source" ? to.x - 1 : to.x + BOX.width + 1;
  return <Arrow role="residual" path={`M${from.x + MIDDLE} ${start}H${edge}V${to.y + BOX.height / 2}H${end}`} />;
}

/** Keys and values of every layer of the target come from the last vectors of the source. */
function Crossing({ memory, to }: { readonly memory: Place; readonly to: readonly Place[] }): JSX.Element {
  const gutter = COLUMN.target - FRAME - 20;
  const top = memory.y - 10;
  return (
    <g>
      {to.map((one) => (["key", "value"] as const).map((role, number) => {
        const [x, y] = [gutter + 7 * number, one.y + 9 + 12 * number];
        return (
          <g key={`${one.slot} ${role}`}>
            <Arrow role={role} path={`M${memory.x + MIDDLE} ${memory.y}V${top - 4 * number}H${x}V${y}H${one.x - 1}`} />
            <text class={`letter ${role}`} x={one.x - 9} y={y + (number ? 12 : -4)} text-anchor="middle">{role === "key" ? "K" : "V"}</text>
          </g>
        );
      }))}
    </g>
  );
}

function named(place: Place, of: ModelMap): string {
  const { box } = place;
  if (!box) return "";
  const parts = [said(`map.role.${box.role}`), t(box.side === "source" ? "map.reads" : "map.writes")];
  if (box.copies) parts.push(t("map.times", { n: box.copies }));
  return t("map.spoken", { box: parts.join(", "), n: weightsOf(box).toLocaleString("en"), share: percent(weightsOf(box), totals(of).weights) });
}

export function percent(part: number, whole: number): string {
  const share = whole === 0 ? 0 : (100 * part) / whole;
  return `${share > 0 && share < 0.1 ? "< 0.1" : share.toFixed(1)} %`;
}

function BoxButton({ place, of, go }: { readonly place: Place; readonly of: ModelMap; readonly go: (event: KeyboardEvent) => void }): JSX.Element {
  const isChosen = chosen.value?.slot === place.slot;
  const share = place.box ? weightsOf(place.box) / totals(of).weights : 0;
  return (
    <g role="button" class="box" tabindex={isChosen ? 0 : -1} aria-pressed={isChosen} aria-label={named(place, of)}
      data-slot={place.slot} onClick={() => choose(place.slot)} onKeyDown={go}>
      <rect x={place.x} y={place.y} width={BOX.width} height={BOX.height} rx="4" />
      <text x={place.x + MIDDLE} y={place.y + 19} text-anchor="middle">{said(`map.role.${place.role}`)}</text>
      <rect class="share" x={place.x + 4} y={place.y + BOX.height - 5} width={share * (BOX.width - 8)} height="3" />
    </g>
  );
}

function Ghost({ place: { x, y, role, slot } }: { readonly place: Place }): JSX.Element {
  return (
    <g class="ghost" aria-hidden="true" data-lacks={slot}>
      <rect x={x} y={y} width={BOX.width} height={BOX.height} rx="4" />
      <text x={x + MIDDLE} y={y + 20} text-anchor="middle">{said(`map.role.${role}`)}</text>
    </g>
  );
}

function Ends({ drawn, of }: { readonly drawn: Figure; readonly of: ModelMap }): JSX.Element {
  const columns = (["source", "target"] as const).map((side) => drawn.places.filter((one) => one.side === side && one.box));
  return (
    <g>
      {columns.map(([lowest, ...others], number) => {
        if (!lowest) return null;
        const [x, last] = [lowest.x + MIDDLE, others.at(-1) ?? lowest];
        const foot = drawn.height - 16;
        return (
          <g key={number}>
            <Arrow path={`M${x} ${foot - 14}V${lowest.y + BOX.height + 1}`} />
            <text class="end" x={x} y={foot} text-anchor="middle">{t(number === 0 ? inputOf(of) : columns[0]?.length ? "map.target" : "map.before")}</text>
            {last.role === "softmax" && <Arrow path={`M${x} ${last.y}V${last.y - 14}`} />}
            {last.role === "softmax" && <text class="end" x={x} y={last.y - 19} text-anchor="middle">{t("map.probabilities")}</text>}
          </g>
        );
      })}
    </g>
  );
}

export function FigureView({ drawn, of }: { readonly drawn: Figure; readonly of: ModelMap }): JSX.Element {
  const figure = useRef<SVGSVGElement>(null);
  const go = (event: KeyboardEvent): void => {
    const move = MOVES[event.key];
    const { slot = "" } = chosen.value ?? {};
    if (!move) return;
    event.preventDefault();
    const to = neighbour(drawn, slot, move);
    choose(to);
    figure.current?.querySelector<SVGGElement>(`[data-slot="${CSS.escape(to)}"]`)?.focus(); // at once: another key may follow
  };
  const cross = crossings(drawn);
  return (
    <svg ref={figure} class="figure" viewBox={`0 0 ${drawn.width} ${drawn.height}`} role="group" aria-label={t("map.figure")}>
      <Heads />
      {drawn.frames.map(({ side, x, y, height, copies }) => (
        <g key={`${side} ${y}`}>
          <rect class="frame" x={x} y={y} width={BOX.width + 2 * FRAME} height={height} rx="8" />
          <text class="times" x={side === "source" ? x - 4 : x + BOX.width + 2 * FRAME + 4} y={y + height / 2} text-anchor={side === "source" ? "end" : "start"}>{copies}×</text>
        </g>
      ))}
      <Ends drawn={drawn} of={of} />
      {flows(drawn).map(([lower, upper]) => <Arrow key={upper.slot} path={`M${lower.x + MIDDLE} ${lower.y}V${upper.y + BOX.height + 1}`} />)}
      {residuals(drawn).map(({ from, to }) => <Residual key={to.slot} from={from} to={to} />)}
      {cross && <Crossing {...cross} />}
      {drawn.places.map((place) => (place.box
        ? <BoxButton key={place.slot} place={place} of={of} go={go} />
        : <Ghost key={place.slot} place={place} />))}
    </svg>
  );
}
