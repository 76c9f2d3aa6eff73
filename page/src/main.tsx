import { render } from "preact";
import "@preact/signals"; // components follow the signals that they read
import { attentionScreen, type AttentionContent } from "./attention/Attention";
import { App } from "./shell/App";
import { follow, type Screen } from "./shell/address";
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
  readonly served?: Served;
}

function screensOf({ step, trace, attention, served }: Written): readonly Screen[] {
  return [
    ...(served ? [translateScreen(served)] : []),
    ...(served || attention ? [attentionScreen(attention, served !== undefined)] : []),
    ...(served || trace ? [traceScreen(trace, served !== undefined)] : []),
    ...(step ? [stepScreen(step)] : []),
  ];
}

const root = document.getElementById("page");
if (root) {
  const written = JSON.parse(document.getElementById("content")?.textContent ?? "{}") as Written;
  const screens = screensOf(written);
  follow(screens);
  render(<App screens={screens} isServed={written.served !== undefined} />, root);
}
