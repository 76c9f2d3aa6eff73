// Presets are edits of given values and nothing else, so that undo takes them back like any other edit.
import { ones, type Engine, type Given } from "./engine";

export const PRESETS = ["scale", "mask", "positions", "uniform"] as const;
export type Preset = (typeof PRESETS)[number];

function changes(preset: Preset, given: Given): Given {
  switch (preset) {
    case "scale":
      return { factor: [[1]] };
    case "mask":
      return { "mask.bits": ones(given["mask.bits"] ?? []) };
    case "positions":
      return { "positions.on": [[0]] };
    case "uniform":
      return { factor: [[0]] }; // scores of 0 give equal weights wherever the mask allows
  }
}

export function isOn(engine: Engine, preset: Preset): boolean {
  return Object.entries(changes(preset, engine.given)).every(([name, wanted]) =>
    engine.value(name).every((cells, row) => cells.every((cell, column) => cell === wanted[row]?.[column])),
  );
}

/** Switches a preset on, or back to what was given. */
export function toggle(engine: Engine, preset: Preset): void {
  const wanted = changes(preset, engine.given);
  if (!isOn(engine, preset)) engine.replace(wanted);
  else engine.replace(Object.fromEntries(Object.keys(wanted).map((name) => [name, engine.given[name] ?? []])));
}
