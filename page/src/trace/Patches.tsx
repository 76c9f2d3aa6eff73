// Numbers of a picture's patches, laid over the picture: one for each head.
import type { JSX } from "preact";
import { Over } from "../picture/Over";
import { namesOf, valueOf, type WrittenStep, type WrittenTrace } from "./data";
import { choose, outer, turn } from "./state";

export function Patches({ trace, of }: { readonly trace: WrittenTrace; readonly of: WrittenStep }): JSX.Element | null {
  if (!trace.picture || !of.isOnPatches) return null;
  const value = valueOf(of);
  const picture = trace.picture;
  const [heads = 1] = value.outer;
  const names = value.outer.length ? namesOf(trace, of, -3) : [""];
  const pick = (head: number, row: number, column: number): void => {
    turn(0, head);
    choose(row, column);
  };
  return (
    <div class="patches">
      {Array.from({ length: heads }, (_, head) => (
        <Over key={head} picture={picture} values={value.matrix([head])} rows={value.rows} columns={value.columns}
          caption={value.outer.length ? `${of.axes.at(-3) ?? ""} ${names[head] ?? head}` : ""} isChosen={(outer.value[0] ?? 0) === head} pick={(row, column) => pick(head, row, column)} />
      ))}
    </div>
  );
}
