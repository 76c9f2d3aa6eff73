import { render } from "preact";
import "@preact/signals"; // components follow the signals that they read
import { attentionScreen, type AttentionContent } from "./attention/Attention";
import { beamScreen } from "./beam/Beam";
import type { SearchTree } from "./beam/data";
import { App } from "./shell/App";
import { follow, type Screen } from "./shell/address";
import { mapScreen } from "./map/Map";
import type { WrittenMaps } from "./map/content";
import { runsScreen } from "./runs/Runs";
import type { Run } from "./runs/data";
import { stepScreen } from "./step/Step";
import type { WrittenContent } from "./step/content";
import { traceScreen } from "./trace/Trace";
import type { WrittenTrace } from "./trace/data";
import { translateScreen } from "./translate/Translate";
import type { Served } from "./served/client";

/** What Python wrote into the page: the content of each screen that it has. */
interface Written {
  readonly step?: WrittenContent;
  readonly trace?: WrittenTrace;
  readonly attention?: AttentionContent;
  readonly beam?: SearchTree;
  readonly map?: WrittenMaps;
  readonly runs?: readonly Run[];
  /** Whether the server of the page has runs. */
  readonly liveRuns?: boolean;
  readonly served?: Served;
}

function screensOf({ step, trace, attention, beam, map, runs, liveRuns, served }: Written): readonly Screen[] {
  const worked = step && stepScreen(step);
  return [
    ...(served ? [translateScreen(served)] : []),
    ...(served || attention ? [attentionScreen(attention, served !== undefined)] : []),
    ...(served || beam ? [beamScreen(beam, served !== undefined)] : []),
    ...(served || trace ? [traceScreen(trace, served !== undefined)] : []),
    ...(worked ? [worked] : []),
    ...(runs || liveRuns ? [runsScreen(runs)] : []),
    ...(served || map ? [mapScreen(map, served !== undefined, worked)] : []),
  ];
}

const root = document.getElementById("page");
if (root) {
  const written = JSON.parse(document.getElementById("content")?.textContent ?? "{}") as Written;
  const screens = screensOf(written);
  follow(screens);
  render(<App screens={screens} isServed={written.served !== undefined || written.liveRuns === true} />, root);
}
