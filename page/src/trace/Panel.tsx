// The chosen cell: its number, its row, what the step is made from and where it goes.
import type { JSX } from "preact";
import { language, t } from "../shell/texts";
import { visible } from "../text/words";
import { type WrittenStep } from "./data";
import { numberText } from "./numbers";
import { cell, columnNames, go, rowNames, trace, uses } from "./state";

function Links({ title, of, label }: { readonly title: string; readonly of: readonly WrittenStep[]; readonly label: string }): JSX.Element | null {
  if (of.length === 0) return null;
  return (
    <section class={label}>
      <h3>{title}</h3>
      <ul>
        {of.map((one) => (
          <li key={one.name}>
            <button type="button" class="link" onClick={() => go(one.name)}>{one.title[language.value]}</button>
            <div class="muted name">{one.name}</div>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Seven digits, which is what the file has. */
function full(value: number, isWhole: boolean): string {
  return Number.isFinite(value) && !isWhole ? String(Number(value.toPrecision(7))).replace("-", "−") : numberText(value, isWhole);
}

function Row({ of, matrix }: { readonly of: WrittenStep; readonly matrix: Float64Array }): JSX.Element | null {
  const columns = columnNames.value.length;
  if (!of.areShares) return null;
  const row = matrix.subarray(cell.value.row * columns, (cell.value.row + 1) * columns);
  return <p class="muted">{t("attention.sum", { sum: row.reduce((sum, one) => sum + one, 0).toFixed(4) })}</p>;
}

export function Panel({ of, matrix }: { readonly of: WrittenStep; readonly matrix: Float64Array }): JSX.Element {
  const { row, column } = cell.value;
  const names = [rowNames.value[row], columnNames.value[column]].filter((name) => name !== undefined && name !== "").map((name) => visible(name ?? ""));
  const value = matrix[row * columnNames.value.length + column] ?? NaN;
  const inputs = of.inputs.flatMap((name) => trace.value?.steps.find((one) => one.name === name) ?? []);
  return (
    <aside class="panel" aria-label={t("panel.title")}>
      <h2>{t("panel.title")}</h2>
      <p class="cell">[{names.map((name, number) => <bdi key={number}>{number > 0 ? ", " : ""}{name}</bdi>)}]</p>
      <p class="value" aria-live="polite">{value === -Infinity ? t("matrix.masked") : full(value, of.isWhole)}</p>
      <Row of={of} matrix={matrix} />
      <Links title={t("trace.madeFrom")} of={inputs} label="inputs" />
      <Links title={t("panel.goes")} of={uses(of.name)} label="goes" />
    </aside>
  );
}
