// The server's routes, as this page asks them.
export interface Bundle {
  readonly name: string;
  readonly source: string;
  readonly target: string;
}

/** What Python wrote into a page that it serves. */
export interface Served {
  readonly bundles: readonly Bundle[];
  readonly needsToken: boolean;
}

type Span = readonly [number, number];

/** Places are counted in characters, not in UTF-16 units: (the first, the one after the last). */
export interface Explanation {
  readonly pieces: readonly string[];
  readonly log_probabilities: readonly (number | null)[];
  readonly alignment: { readonly source: readonly Span[]; readonly target: readonly Span[]; readonly weights: readonly (readonly number[])[] };
}

export interface NextPiece {
  readonly piece: string;
  readonly probability: number;
  readonly text: string;
}

export interface Translated {
  readonly text: string;
  readonly score: number | null;
  readonly finished: boolean;
  readonly cut: boolean;
  readonly missing: readonly string[];
  readonly problem: string;
  readonly flags: readonly string[];
  readonly alternatives: readonly { readonly text: string; readonly score: number }[];
  readonly explanation: Explanation | null;
  readonly next_pieces: readonly NextPiece[];
}

export interface Asked {
  readonly bundle: string;
  readonly text: string;
  readonly prefix?: string;
  readonly best?: number;
  readonly explain?: boolean;
  readonly position?: number;
}

/** A refusal, with the server's sentence. */
export class Refused extends Error {
  constructor(readonly status: number, sentence: string, readonly seconds = 0) {
    super(sentence);
  }
}

const MOST_TRIES = 5;
const wait = (seconds: number): Promise<void> => new Promise((done) => setTimeout(done, 1000 * seconds));

export class Client {
  token = "";

  /** The translation of one line; asks again where the server has too much to do. */
  async translate(asked: Asked, signal: AbortSignal): Promise<Translated> {
    for (let tries = 1; ; tries += 1) {
      try {
        const answer = await this.send("/v1/translate", JSON.stringify(asked), signal);
        const { translations } = (await answer.json()) as { translations: readonly Translated[] };
        const [first] = translations;
        if (!first) throw new Refused(500, "no translation");
        return first;
      } catch (error) {
        if (!(error instanceof Refused) || error.status !== 429 || tries === MOST_TRIES) throw error;
        await wait(error.seconds || 1);
        signal.throwIfAborted();
      }
    }
  }

  /** The parts of a greedy translation as they are found. */
  async *stream(asked: Asked, signal: AbortSignal): AsyncGenerator<string> {
    const answer = await this.send("/v1/translate", JSON.stringify({ ...asked, stream: true }), signal);
    for await (const data of events(answer)) {
      const part = JSON.parse(data) as { text?: string; error?: string };
      if (part.error !== undefined) throw new Refused(500, part.error);
      if (part.text !== undefined) yield part.text;
    }
  }

  /** A translated document, as bytes. */
  async document(file: File, bundle: string, signal: AbortSignal): Promise<Blob> {
    const asked = new URLSearchParams({ name: file.name, bundle });
    return (await this.send(`/v1/documents?${asked}`, file, signal)).blob();
  }

  /** The translators that are served. */
  async bundles(signal: AbortSignal): Promise<readonly Bundle[]> {
    return this.read<readonly Bundle[]>("/v1/bundles", signal);
  }

  /** The JSON of a route that takes no body. */
  async read<T>(path: string, signal: AbortSignal): Promise<T> {
    return (await this.send(path, null, signal)).json() as Promise<T>;
  }

  /** The JSON that a route answers to this body. */
  async ask<T>(path: string, body: unknown, signal: AbortSignal): Promise<T> {
    return (await this.send(path, JSON.stringify(body), signal)).json() as Promise<T>;
  }

  private async send(path: string, body: BodyInit | null, signal: AbortSignal): Promise<Response> {
    const headers = new Headers();
    if (body !== null) headers.set("content-type", typeof body === "string" ? "application/json" : "application/octet-stream");
    if (this.token) headers.set("authorization", `Bearer ${this.token}`);
    const answer = await fetch(path, { method: body === null ? "GET" : "POST", body, headers, signal });
    if (!answer.ok) throw new Refused(answer.status, await sentence(answer), Number(answer.headers.get("retry-after")));
    return answer;
  }
}

async function sentence(answer: Response): Promise<string> {
  const text = await answer.text();
  try {
    return (JSON.parse(text) as { error?: string }).error ?? text;
  } catch {
    return text || answer.statusText;
  }
}

/** The data of server-sent events. */
async function* events(answer: Response): AsyncGenerator<string> {
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
    const whole = (waiting + part.value).split("\n\n");
    waiting = whole.pop() ?? "";
    for (const event of whole) if (event.startsWith("data: ")) yield event.slice("data: ".length);
  }
}
