// The attention to a sound: its spectrogram, under it a strip for each row of the map along the same time.
import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { t } from "../shell/texts";
import { isDark } from "../shell/theme";
import { peakOf, scaled } from "./along";
import { rowsOf, type WrittenSound } from "./data";
import { moveBy, paint } from "./HeatMap";
import type { Shown } from "./levels";
import { cell, choose } from "./state";

const TICKS = 4;

function seconds(sound: WrittenSound, place: number): string {
  return `${(sound.seconds * place).toFixed(2)} s`;
}

function Strip({ rows, label }: { readonly rows: readonly ArrayLike<number>[]; readonly label?: string }): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => paint(canvas.current, rows), [rows, isDark.value]);
  return label ? <canvas ref={canvas} role="img" aria-label={label} /> : <canvas ref={canvas} aria-hidden="true" />;
}

function Sound({ sound, row }: { readonly sound: WrittenSound; readonly row: Float64Array }): JSX.Element {
  const bands = useMemo(() => (rowsOf(sound.spectrogram)[0] ?? []).slice().reverse(), [sound]);
  const chosen = useMemo(() => [row], [row]);
  return (
    <div class="spectrogram">
      <Strip rows={bands} label={t("attention.spectrogram")} />
      <div class="light"><Strip rows={chosen} /></div>
    </div>
  );
}

export function Spectrogram({ shown, sound }: { readonly shown: Shown; readonly sound: WrittenSound }): JSX.Element {
  const list = useRef<HTMLDivElement>(null);
  const strips = useMemo(() => shown.weights.map((row) => [scaled(row, sound.positions)]), [shown, sound]);
  const onKey = (event: KeyboardEvent): void => {
    moveBy(event);
    requestAnimationFrame(() => list.current?.querySelector<HTMLElement>("[tabindex='0']")?.focus());
  };
  const pick = (row: number, event: MouseEvent): void => {
    const { left, width } = (event.currentTarget as HTMLElement).getBoundingClientRect();
    choose(row, event.detail === 0 ? peakOf(shown.weights[row] ?? [], sound.positions).place : Math.floor(((event.clientX - left) / width) * sound.positions));
  };
  return (
    <figure class="sound">
      <div class="along" role="group" aria-label={t("attention.map")} ref={list} onKeyDown={onKey}>
        <span />
        <Sound sound={sound} row={strips[cell.value.row]?.[0] ?? new Float64Array(sound.positions)} />
        <span />
        <p class="times" aria-hidden="true">{Array.from({ length: TICKS + 1 }, (_, tick) => <span key={tick}>{tick === TICKS ? seconds(sound, sound.positions) : ((sound.seconds * sound.positions * tick) / TICKS).toFixed(2)}</span>)}</p>
        {shown.rows.map(({ label }, row) => {
          const { weight, place } = peakOf(shown.weights[row] ?? [], sound.positions);
          const isChosen = cell.value.row === row;
          return [
            <span class={isChosen ? "name chosen" : "name"} key={`n${row}`} aria-hidden="true"><bdi>{label}</bdi></span>,
            <button type="button" key={`s${row}`} class="strip" data-row={row} tabIndex={isChosen ? 0 : -1} aria-pressed={isChosen} onClick={(event) => pick(row, event)}
              aria-label={t("attention.loudest", { row: label, time: seconds(sound, place), weight: weight.toFixed(4) })}>
              <Strip rows={strips[row] ?? []} />
            </button>,
          ];
        })}
      </div>
      <figcaption class="muted">{t("attention.alongTime")} {t("attention.chosenStrip")}</figcaption>
    </figure>
  );
}
