// The Map screen: the paper's figure for each member of the family, and what is in each of its boxes.
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { Files } from "../files/Files";
import { standalone } from "../files/live";
import { current, type Screen } from "../shell/address";
import { said, t } from "../shell/texts";
import { bundle, bundles } from "../served/state";
import { go } from "../step/state";
import { totals, weightsOf, type ModelMap, type Side, type WrittenMaps } from "./content";
import { SIDES, replacing, type Figure } from "./layout";
import { FigureView, percent } from "./Figure";
import { Panel } from "./Panel";
import { REFERENCE, begin, box, choose, drawn, family, follow, isWorking, load, maps, model, nameOfBundle, parameters, problem, reference, show, take, wanted } from "./state";

const SETTINGS = ["encoder_layers", "decoder_layers", "layers", "width", "heads", "feedforward_width", "norm", "positions"] as const;

function Select({ isServed }: { readonly isServed: boolean }): JSX.Element {
  const others = Object.keys(maps.value).filter((name) => !(name in family.value) && !name.startsWith(nameOfBundle("")));
  const shown = model.value ? (Object.entries(maps.value).find(([, one]) => one === model.value)?.[0] ?? "") : wanted.value;
  return (
    <section class="tools" aria-label={t("map.controls")}>
      <label>{t("map.model")}{" "}
        <select value={shown} data-tool="model" onChange={(event) => show(event.currentTarget.value)}>
          {isServed && bundles.value.map(({ name }) => <option key={name} value={nameOfBundle(name)}>{name}</option>)}
          {others.map((name) => <option key={name} value={name}>{name}</option>)}
          {Object.entries(family.value).map(([name, label]) => <option key={name} value={name}>{label} ({name})</option>)}
        </select>
      </label>
      <span role="status" class={problem.value ? "problem" : "muted"}>{problem.value || (isWorking.value ? t("map.loading") : "")}</span>
    </section>
  );
}

function Settings({ of }: { readonly of: ModelMap }): JSX.Element {
  const known = SETTINGS.filter((name) => name in of.settings);
  const others = Object.entries(of.settings).filter(([name]) => !known.some((one) => one === name));
  return (
    <div class="settings">
      <ul>{known.map((name) => <li key={name}><span class="muted">{said(`map.setting.${name}`)}</span> {String(of.settings[name])}</li>)}</ul>
      <details>
        <summary>{t("map.settings")}</summary>
        <p><code>{others.map(([name, value]) => `${name} = ${JSON.stringify(value)}`).join(", ")}</code></p>
      </details>
    </div>
  );
}

function placed({ role, side }: { readonly role: string; readonly side: Side }): string {
  return t("map.placed", { box: said(`map.role.${role}`), side: t(side === "source" ? "map.reads" : "map.writes") });
}

/** What the model lacks of the reference, and what it has in place of it. */
function Compared({ of, to, figure }: { readonly of: ModelMap; readonly to: ModelMap; readonly figure: Figure }): JSX.Element {
  const names = [...new Set(SIDES.flatMap((side) => {
    const own = figure.places.filter((one) => one.side === side);
    if (own.every(({ box }) => !box)) return [t("map.wholeSide", { side: t(side === "source" ? "map.reads" : "map.writes") })];
    return own.filter(({ box }) => !box).map(placed);
  }))];
  const label = family.value[of.name] ?? of.name;
  return (
    <p class="compared" role="status">
      {names.length === 0 ? t("map.lacksNothing", { model: label }) : t("map.lacks", { model: label, boxes: names.join(t("map.and")) })}
      {replacing(of, to).map(([one, other]) => ` ${t("map.replaces", { one: placed(one), other: placed(other) })}`)}
    </p>
  );
}

/** The figure as it is in view. */
function figureSvg(of: ModelMap): string {
  const figure = document.querySelector<SVGSVGElement>("svg.figure");
  return figure ? standalone(figure, of.name) : "";
}

/** All boxes as CSV: a line for each, in the units of the table. */
function csvOf(of: ModelMap): string {
  const rows = of.boxes.map((one) => [one.slot, one.role, one.side, one.copies ?? 1, weightsOf(one), one.operations].join(","));
  return ["slot,role,side,layers,weights,operations", ...rows, ""].join("\r\n");
}

/** All boxes in numbers, which is also the figure for those who do not see it. */
function Table({ of }: { readonly of: ModelMap }): JSX.Element {
  const all = totals(of);
  return (
    <div class="scroll all-boxes" tabIndex={0} role="region" aria-label={t("map.all")}>
      <table class="facts">
        <caption>{t("map.all")}</caption>
        <thead><tr><th scope="col">{t("map.box")}</th><th scope="col">{t("map.layers")}</th><th scope="col">{t("map.weightsShort")}</th><th scope="col">%</th><th scope="col">{t("map.operations")}</th><th scope="col">%</th></tr></thead>
        <tbody>
          {of.boxes.map((one) => (
            <tr key={one.slot} class={one === box.value ? "chosen" : undefined}>
              <th scope="row"><button type="button" class="link" data-row={one.slot} onClick={() => choose(one.slot)}>{said(`map.role.${one.role}`)}</button> <span class="muted">{t(one.side === "source" ? "map.reads" : "map.writes")}</span></th>
              <td>{one.copies ?? 1}</td>
              <td>{weightsOf(one).toLocaleString("en")}</td><td>{percent(weightsOf(one), all.weights)}</td>
              <td>{one.operations.toLocaleString("en")}</td><td>{percent(one.operations, all.operations)}</td>
            </tr>
          ))}
        </tbody>
        <tfoot><tr><th scope="row">{t("map.sum")}</th><td /><td data-total="weights">{all.weights.toLocaleString("en")}</td><td /><td data-total="operations">{all.operations.toLocaleString("en")}</td><td /></tr></tfoot>
      </table>
    </div>
  );
}

function Sizes({ of }: { readonly of: ModelMap }): JSX.Element {
  const [[source, target], [read, written]] = [of.sizes, of.lengths];
  const key = of.settings["kind"] === "whisper" || ["vit", "cnn", "captioner"].includes(String(of.settings["kind"])) ? "map.sizesNumbers" : "map.sizes";
  return <p class="muted">{t(key, { source: source.toLocaleString("en"), target: target.toLocaleString("en"), read, written })} {t("map.counted")}</p>;
}

function MapView(isServed: boolean, openStep: ((name: string) => void) | undefined): JSX.Element {
  useEffect(() => {
    if (isServed) void load([wanted.value || nameOfBundle(bundle.value?.name ?? ""), REFERENCE].filter((name) => name !== nameOfBundle("")));
  }, [wanted.value]);
  const [of, figure, chosen] = [model.value, drawn.value, box.value];
  const hasChoice = isServed || Object.keys(maps.value).length > 1;
  return (
    <>
      {(hasChoice || isWorking.value) && <Select isServed={isServed} />}
      <main class="map" id="centre" tabIndex={-1}>
        {of && figure && (
          <section aria-label={t("map.figure")}>
            <FigureView drawn={figure} of={of} />
            {reference.value && of !== reference.value && <Compared of={of} to={reference.value} figure={figure} />}
            <p class="muted">{t("map.keys")}</p>
            <Files name={`map-${of.name}`} svg={() => figureSvg(of)} csv={() => csvOf(of)} />
          </section>
        )}
        {of && chosen && <Panel of={of} box={chosen} openStep={openStep} />}
        {of && (
          <section class="whole" aria-label={t("map.whole")}>
            <Settings of={of} />
            <Table of={of} />
            <Sizes of={of} />
          </section>
        )}
      </main>
    </>
  );
}

/** Takes the maps in the page; a served page asks for them when the screen is opened. */
export function mapScreen(written: WrittenMaps | undefined, isServed: boolean, step: Screen | undefined): Screen {
  begin(isServed);
  if (written) take(written);
  const openStep = step && ((name: string): void => {
    go(name);
    current.value = step;
  });
  return {
    name: "map", label: "app.map", View: () => MapView(isServed, openStep), title: () => t("map.title"),
    parameters, follow, entry: () => wanted.value,
  };
}
