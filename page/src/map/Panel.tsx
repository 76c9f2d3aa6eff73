// The chosen box: what it does, its formula, weights, operations, where it is described, and our lines of code.
import type { JSX } from "preact";
import { said, t } from "../shell/texts";
import { Symbols } from "../step/Symbol";
import { boxOf, countOf, totals, weightsOf, type Box, type Meaning, type ModelMap, type SourceLines } from "./content";
import { percent } from "./Figure";
import { stepOf } from "./steps";

function number(value: number): string {
  return value.toLocaleString("en");
}

function roleOf(of: ModelMap, slot: string): string {
  const found = boxOf(of, slot);
  return found ? t("map.placed", { box: said(`map.role.${found.role}`), side: t(found.side === "source" ? "map.reads" : "map.writes") }) : slot;
}

function Share({ name, part, whole }: { readonly name: string; readonly part: number; readonly whole: number }): JSX.Element {
  return (
    <tr>
      <th scope="row">{name}</th>
      <td class="count">{number(part)}</td>
      <td><span class="track"><b style={{ width: `${whole === 0 ? 0 : (100 * part) / whole}%` }} /></span></td>
      <td class="count">{percent(part, whole)}</td>
    </tr>
  );
}

function Weights({ of, box }: { readonly of: ModelMap; readonly box: Box }): JSX.Element {
  if (box.weights.length === 0) return <p class="muted">{t("map.noWeights")}</p>;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={t("map.weights")}>
      <table class="facts">
        <caption>{t("map.weights")}</caption>
        <thead><tr><th scope="col">{t("map.name")}</th><th scope="col">{t("map.shape")}</th><th scope="col">{t("map.layers")}</th><th scope="col">{t("map.count")}</th></tr></thead>
        <tbody>
          {box.weights.map((one) => (
            <tr key={`${one[0]} ${one[1].join()} ${one[3]}`}>
              <th scope="row"><code>{one[0]}</code></th><td>{one[1].join(" × ")}</td><td>{one[2]}</td>
              <td>{one[3] === undefined ? number(countOf(one)) : t("map.shared", { box: roleOf(of, one[3]) })}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Code({ of: { file, first_line, last_line, name, source } }: { readonly of: SourceLines }): JSX.Element {
  const short = name.split(".").slice(-2).join(".");
  return (
    <figure class="code">
      <figcaption><code>{short}</code> <span class="muted">{file}, {t("map.lines", { from: first_line, to: last_line })}</span></figcaption>
      <pre tabIndex={0} role="region" aria-label={short}><code>{source}</code></pre>
    </figure>
  );
}

function Described({ meaning }: { readonly meaning: Meaning }): JSX.Element | null {
  if (!meaning.source) return null;
  return (
    <p>
      {t("map.described")} {meaning.source}
      {meaning.exhibits.map((one) => <span key={one}> · <code>openwork paper {one}</code></span>)}
    </p>
  );
}

export function Panel({ of, box, openStep }: { readonly of: ModelMap; readonly box: Box; readonly openStep: ((name: string) => void) | undefined }): JSX.Element {
  const meaning = of.meanings[box.meaning];
  const all = totals(of);
  const step = stepOf(box.slot);
  return (
    <aside class="box-panel" aria-label={t("map.panel")}>
      <p class="where">{t(box.side === "source" ? "map.reads" : "map.writes")}{box.copies ? ` · ${t("map.times", { n: box.copies })}` : ""}</p>
      <h2 aria-live="polite">{said(`map.role.${box.role}`)}</h2>
      <p class="why">{said(`map.about.${box.role}`)}</p>
      {meaning?.formulas.map((one) => <p class="equation" key={one}><Symbols text={one} /></p>)}
      {openStep && step && <p><button type="button" class="link" data-step-of={step} onClick={() => openStep(step)}>{t("map.step")} →</button></p>}
      <table class="bars shares">
        <caption>{t("map.shares")}</caption>
        <tbody>
          <Share name={t("map.weightsShort")} part={weightsOf(box)} whole={all.weights} />
          <Share name={t("map.operations")} part={box.operations} whole={all.operations} />
        </tbody>
      </table>
      {box.shape.length > 0 && <p>{t(box.role === "softmax" || box.role === "output" ? "map.givesLogits" : "map.gives")} {box.shape.map(number).join(" × ")}</p>}
      {box.heads && <p>{t("map.heads", { n: box.heads[0], key: box.heads[1], value: box.heads[2] })}</p>}
      <Weights of={of} box={box} />
      {meaning && <Described meaning={meaning} />}
      {meaning && meaning.code.length > 0 && <h3>{t("map.code")}</h3>}
      {box.module && <p class="muted"><code>{box.module}</code>{meaning && <> · <code>{meaning.kind}</code></>}</p>}
      {meaning?.code.map((one) => <Code key={one.name} of={one} />)}
    </aside>
  );
}
