// The attention to a picture: for each row of the map the picture, with the weights of its patches over it.
import type { JSX } from "preact";
import { Over } from "../picture/Over";
import { t } from "../shell/texts";
import type { WrittenPicture } from "./data";
import type { Shown } from "./levels";
import { cell, choose } from "./state";

export function OnPicture({ shown, picture }: { readonly shown: Shown; readonly picture: WrittenPicture }): JSX.Element {
  const { rows: high, columns: wide } = picture;
  return (
    <>
      <div class="patches" role="group" aria-label={t("attention.map")}>
        {shown.rows.map(({ label }, row) => (
          <Over key={row} picture={picture} values={shown.weights[row]?.slice(0, high * wide) ?? new Float64Array(high * wide)} rows={high} columns={wide}
            caption={label} isChosen={cell.value.row === row} pick={(y, x) => choose(row, y * wide + x)} />
        ))}
      </div>
      <p class="muted">{t("attention.onPatches")}</p>
    </>
  );
}
