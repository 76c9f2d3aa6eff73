// All layers, heads and kinds at once; one is opened large.
import { batch } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { said, t } from "../shell/texts";
import { isDark } from "../shell/theme";
import { scaled } from "./along";
import { KINDS, type Attention, type Kind, type Layer, type Weights } from "./data";
import { paint } from "./HeatMap";
import { attention, heads, kind, layer } from "./state";

const FINEST = 96; // rows and columns of a thumbnail; of more, each drawn one is the mean of its neighbours

export function shrunk(weights: Weights, most = FINEST): readonly ArrayLike<number>[] {
  const by = Math.ceil(Math.max(weights.length, weights[0]?.length ?? 0) / most);
  if (by <= 1) return weights;
  const [height, wide] = [Math.ceil(weights.length / by), Math.ceil((weights[0]?.length ?? 0) / by)];
  return Array.from({ length: height }, (_, y) =>
    Float64Array.from({ length: wide }, (_, x) => {
      const block = weights.slice(y * by, (y + 1) * by).flatMap((row) => [...row.slice(x * by, (x + 1) * by)]);
      return block.reduce((sum, one) => sum + one, 0) / block.length;
    }),
  );
}

/** Weights to a sound or a picture, each row by its own largest: of so many positions each has little. */
function seenOf(of: Kind, weights: Weights): Weights {
  const { sound, picture } = attention.value ?? {};
  const positions = sound?.positions ?? (picture ? picture.rows * picture.columns : 0);
  return of === "cross" && positions ? weights.map((row) => scaled(row, positions)) : weights;
}

function open(of: Layer, head: number): void {
  batch(() => {
    kind.value = of.kind;
    layer.value = of.layer;
    heads.value = head;
  });
}

function Thumbnail({ of, head }: { readonly of: Layer; readonly head: number }): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const weights = of.heads[head];
  useEffect(() => {
    if (weights) paint(canvas.current, shrunk(seenOf(of.kind, weights)));
  }, [weights, isDark.value]);
  const isOpen = kind.value === of.kind && layer.value === of.layer && heads.value === head;
  const name = t("attention.head", { kind: said(`kind.${of.kind}`), layer: of.layer + 1, head: head + 1 });
  return (
    <button type="button" class="thumbnail" aria-pressed={isOpen} aria-label={name} title={name} onClick={() => open(of, head)} data-head={`${of.kind} ${of.layer} ${head}`}>
      <canvas ref={canvas} />
    </button>
  );
}

function OfKind({ of, name }: { readonly of: Attention; readonly name: Kind }): JSX.Element | null {
  const layers = of.layers.filter((one) => one.kind === name);
  if (layers.length === 0) return null;
  return (
    <section aria-label={said(`kind.${name}`)}>
      <h2>{said(`kind.${name}`)}</h2>
      {layers.map((one) => (
        <div class="layer" key={one.layer}>
          <span class="count">{one.layer + 1}</span>
          {one.heads.map((_, head) => <Thumbnail key={head} of={one} head={head} />)}
        </div>
      ))}
    </section>
  );
}

export function Thumbnails({ of }: { readonly of: Attention }): JSX.Element {
  return (
    <nav class="thumbnails" aria-label={t("attention.all")}>
      {KINDS.map((name) => <OfKind key={name} of={of} name={name} />)}
    </nav>
  );
}
