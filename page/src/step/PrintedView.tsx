// What the document prints for the step, beside what is right: figures that differ are marked and have both numbers.
import type { JSX } from "preact";
import type { Printed } from "./content";
import { at } from "../engine/matrix";
import type { Step } from "../engine/steps";
import { stepNames } from "./labels";
import { decimal } from "../text/numbers";
import { content, original } from "./state";
import { language, said, t } from "../shell/texts";

/** One unit of the last decimal that the document prints in this matrix. */
function unit(printed: Printed): number {
  const decimals = printed.value.flat().filter(Number.isFinite).map((value) => (String(value).split(".")[1] ?? "").length);
  return 10 ** -Math.max(0, ...decimals);
}

function differs(printed: number, right: number, allowed: number): boolean {
  return printed !== right && !(Math.abs(printed - right) <= allowed);
}

function figure(value: number): string {
  return value === -Infinity ? "−∞" : String(value).replace("-", "−");
}

function Figures({ of, printed }: { readonly of: Step; readonly printed: Printed }): JSX.Element {
  const [rows, columns] = stepNames(of);
  const allowed = unit(printed);
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={t("printed.title")}>
      <table class="printed">
        {columns.some((name) => name !== "") && (
          <thead><tr><td />{columns.map((name, column) => <th key={column} scope="col">{name}</th>)}</tr></thead>
        )}
        <tbody>
          {printed.value.map((cells, row) => (
            <tr key={row}>
              <th scope="row">{rows[row]}</th>
              {cells.map((value, column) => {
                const right = at(original.value(of.name), row, column);
                return differs(value, right, allowed) ? (
                  <td key={column} class="off"><del>{figure(value)}</del> <ins>{decimal(right)}</ins></td>
                ) : <td key={column}>{figure(value)}</td>;
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function PrintedView({ of }: { readonly of: Step }): JSX.Element | null {
  const wrong = (content.printed.get(of.name) ?? []).filter(({ verdict }) => verdict === "wrong");
  if (wrong.length === 0) return null;
  return (
    <section class="print">
      <h3>{t("printed.title")}</h3>
      {wrong.map((printed, place) => (
        <div key={place}>
          <p>
            {t("printed.in", { document: printed.document })}: <span class="wrong">✗ {said(`printed.${printed.verdict}`)}</span>
            {printed.reason[language.value] && <span class="muted"> {printed.reason[language.value]}</span>}
          </p>
          <Figures of={of} printed={printed} />
          <p class="key"><del>{t("printed.printed")}</del> <ins>{t("printed.right")}</ins></p>
        </div>
      ))}
    </section>
  );
}
