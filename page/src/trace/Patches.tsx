// Numbers of a picture's patches, laid over the picture: one for each head, the largest number the darkest.
import type { JSX } from "preact";
import { t } from "../shell/texts";
import { namesOf, summary, valueOf, type WrittenStep, type WrittenTrace } from "./data";
import { choose, outer, turn } from "./state";

const SIDE = 160; // pixels of the picture's longer side
const DARKEST = 0.75;

interface Layer {
  readonly picture: NonNullable<WrittenTrace["picture"]>;
  readonly matrix: Float64Array;
  readonly rows: number;
  readonly columns: number;
  readonly caption: string;
  readonly isChosen: boolean;
  readonly pick: () => void;
}

function Over({ picture, matrix, rows, columns, caption, isChosen, pick }: Layer): JSX.Element {
  const scale = SIDE / Math.max(picture.width, picture.height);
  const [wide, high] = [picture.width * scale, picture.height * scale];
  const most = summary(matrix)?.most ?? 0;
  const title = `${caption} ${t("trace.largest", { value: most.toFixed(4) })}`.trim();
  const point = (event: MouseEvent): void => {
    pick();
    choose(Math.floor((event.offsetY / high) * rows), Math.floor((event.offsetX / wide) * columns));
  };
  return (
    <figure class="over">
      <button type="button" aria-pressed={isChosen} aria-label={title} onClick={point}>
        <svg width={wide} height={high} viewBox={`0 0 ${columns} ${rows}`} preserveAspectRatio="none" aria-hidden="true">
          <image href={picture.url} width={columns} height={rows} preserveAspectRatio="none" style="image-rendering: pixelated" />
          {Array.from(matrix, (value, place) => (
            <rect key={place} x={place % columns} y={Math.floor(place / columns)} width="1" height="1" fill="var(--orange)" fill-opacity={most > 0 ? ((DARKEST * value) / most).toFixed(3) : 0} />
          ))}
        </svg>
      </button>
      <figcaption class="muted">{title}</figcaption>
    </figure>
  );
}

export function Patches({ trace, of }: { readonly trace: WrittenTrace; readonly of: WrittenStep }): JSX.Element | null {
  if (!trace.picture || !of.isOnPatches) return null;
  const value = valueOf(of);
  const picture = trace.picture;
  const [heads = 1] = value.outer;
  const names = value.outer.length ? namesOf(trace, of, -3) : [""];
  return (
    <div class="patches">
      {Array.from({ length: heads }, (_, head) => (
        <Over key={head} picture={picture} matrix={value.matrix([head])} rows={value.rows} columns={value.columns}
          caption={value.outer.length ? `${of.axes.at(-3) ?? ""} ${names[head] ?? head}` : ""} isChosen={(outer.value[0] ?? 0) === head} pick={() => turn(0, head)} />
      ))}
    </div>
  );
}
