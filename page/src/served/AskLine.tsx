// The form that asks the server for a line: what was translated last stands in it at first.
import type { Signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { t } from "../shell/texts";
import { client, sentenceOf } from "./state";

const SECONDS = 60;

/** A question that is being asked, and why it had no answer. */
export interface Asking {
  readonly isWorking: Signal<boolean>;
  readonly problem: Signal<string>;
}

/** Asks a route, and takes its answer. */
export async function ask<T>({ isWorking, problem }: Asking, path: string, body: unknown, take: (found: T) => void): Promise<void> {
  isWorking.value = true;
  problem.value = "";
  try {
    take(await client.ask<T>(path, body, AbortSignal.timeout(1000 * SECONDS)));
  } catch (error) {
    problem.value = sentenceOf(error);
  }
  isWorking.value = false;
}

interface AskLineProps {
  readonly asking: Asking;
  readonly first: string;
  readonly button: string;
  readonly onAsk: (line: string) => void;
  /** Further choices before the button. */
  readonly children?: ComponentChildren;
}

export function AskLine({ asking, first, button, onAsk, children }: AskLineProps): JSX.Element {
  const send = (event: Event): void => {
    event.preventDefault();
    const written = new FormData(event.currentTarget as HTMLFormElement).get("sentence");
    if (typeof written === "string" && written.trim()) onAsk(written.trim());
  };
  return (
    <form class="ask" onSubmit={send}>
      <label for="sentence">{t("attention.sentence")}</label>
      <input id="sentence" name="sentence" dir="auto" autocomplete="off" defaultValue={first} />
      {children}
      <button type="submit" disabled={asking.isWorking.value}>{button}</button>
      <span role="status" class="problem">{asking.problem.value}</span>
    </form>
  );
}
