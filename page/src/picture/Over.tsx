// Numbers of a picture's patches, laid over the picture: the largest number the darkest.
import type { JSX } from "preact";
import { t } from "../shell/texts";

const SIDE = 160; // pixels of the picture's longer side
const DARKEST = 0.75;

export interface Picture {
  readonly url: string;
  readonly width: number;
  readonly height: number;
}

interface Layer {
  readonly picture: Picture;
  /** Of the patches, row by row. */
  readonly values: Float64Array;
  readonly rows: number;
  readonly columns: number;
  readonly caption: string;
  readonly isChosen: boolean;
  /** Takes the patch that was pointed at. */
  readonly pick: (row: number, column: number) => void;
}

export function Over({ picture, values, rows, columns, caption, isChosen, pick }: Layer): JSX.Element {
  const scale = SIDE / Math.max(picture.width, picture.height);
  const [wide, high] = [picture.width * scale, picture.height * scale];
  const most = values.reduce((largest, one) => Math.max(largest, one), Number.NEGATIVE_INFINITY);
  const title = `${caption} ${t("trace.largest", { value: most.toFixed(4) })}`.trim();
  const point = (event: MouseEvent): void => pick(Math.floor((event.offsetY / high) * rows), Math.floor((event.offsetX / wide) * columns));
  return (
    <figure class="over">
      <button type="button" aria-pressed={isChosen} aria-label={title} onClick={point}>
        <svg width={wide} height={high} viewBox={`0 0 ${columns} ${rows}`} preserveAspectRatio="none" aria-hidden="true">
          <image href={picture.url} width={columns} height={rows} preserveAspectRatio="none" style="image-rendering: pixelated" />
          {Array.from(values, (value, place) => (
            <rect key={place} x={place % columns} y={Math.floor(place / columns)} width="1" height="1" fill="var(--orange)" fill-opacity={most > 0 ? ((DARKEST * value) / most).toFixed(3) : 0} />
          ))}
        </svg>
      </button>
      <figcaption class="muted">{title}</figcaption>
    </figure>
  );
}
