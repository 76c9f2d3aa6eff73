// A chart of the shown runs, with its legend, and the same as files.
import type { JSX } from "preact";
import { Files } from "../files/Files";
import { t } from "../shell/texts";
import { field } from "../files/fields";
import { HEIGHT, WIDTH, drawn, svgOf, type Drawn, type Look, type Named, type Styled } from "./plot";

interface ChartProps {
  readonly name: string;
  readonly titles: Named;
  readonly curves: readonly Styled[];
  readonly isLogarithmic: boolean;
}

export function Sample({ look }: { readonly look: Look }): JSX.Element {
  return <svg class="sample" viewBox="0 0 32 8" width="32" height="8" aria-hidden="true"><path d="M0 4H32" class={`line-${look.colour}`} stroke-dasharray={look.dash} /></svg>;
}

function Picture({ of, titles }: { readonly of: Drawn; readonly titles: Named }): JSX.Element {
  const { left, right, top, bottom } = of.frame;
  return (
    <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={`${titles.title}: ${of.curves.map(({ name }) => name).join(", ")}`}>
      {of.up.map(({ at, text }) => <g key={text}><path class="grid-line" d={`M${left} ${at}H${right}`} /><text x={left - 6} y={at + 4} text-anchor="end">{text}</text></g>)}
      {of.across.map(({ at, text }) => <text key={text} x={at} y={bottom + 16} text-anchor="middle">{text}</text>)}
      <path class="axis" d={`M${left} ${top}V${bottom}H${right}`} />
      <text class="axis-name" x={(left + right) / 2} y={bottom + 36} text-anchor="middle">{titles.across}</text>
      {of.curves.map(({ name, look, path, raw, band, dots }) => (
        <g key={name} data-curve={name}>
          {band && <path class={`band-${look.colour}`} d={band} />}
          {raw && <path class={`line-${look.colour} raw`} d={raw} />}
          <path class={`line-${look.colour}`} d={path} stroke-dasharray={look.dash} />
          {dots.map(([x, y]) => <circle key={x} class={`dot-${look.colour}`} cx={x} cy={y} r="2.5" />)}
        </g>
      ))}
    </svg>
  );
}

/** The points as CSV: a line for each, with the name of its run. */
function csvOf(curves: readonly Styled[], { across, up }: Named): string {
  const rows = curves.flatMap(({ name, points }) => points.map(([x, y]) => `${field(name)},${x},${y}`));
  return [[field(t("runs.run")), field(across), field(up)].join(","), "\r\n", rows.join("\r\n"), "\r\n"].join("");
}

export function Chart({ name, titles, curves, isLogarithmic }: ChartProps): JSX.Element {
  const filled = curves.filter(({ points }) => points.length > 0);
  const of = drawn(filled, isLogarithmic);
  return (
    <figure class="chart" data-chart={name}>
      <figcaption>{titles.title}</figcaption>
      {filled.length === 0 ? <p class="muted">{t("runs.noPoints")}</p> : (
        <>
          <Picture of={of} titles={titles} />
          <ul class="legend">{filled.map((one) => <li key={one.name}><Sample look={one.look} />{one.name}</li>)}</ul>
          <Files name={name} svg={() => svgOf(of, titles)} csv={() => csvOf(filled, titles)} />
        </>
      )}
    </figure>
  );
}
