// Byte-pair encoding as openwork learns it, from the tokenizer.json beside an exported graph.

// The file's patterns are Oniguruma's: scripts have another form here, and so has the difference of two sets.
const toJavaScript = (pattern) =>
  pattern
    .replace(/\\p\{(Han|Hiragana|Katakana)\}/g, "\\p{Script=$1}")
    .replace(/\[([^[\]]*)&&\[\^([^[\]]*)\]\]/g, "[[$1]--[$2]]")
    .replaceAll("\\s", "\\p{White_Space}")
    .replaceAll("\\S", "\\P{White_Space}");

const byteName = (byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`;
const key = (left, right) => `${left}\n${right}`;

export class Tokenizer {
  constructor(content) {
    const { model, normalizer, pre_tokenizer: words } = content;
    if (model.type !== "BPE" || normalizer || words?.type !== "Split") throw Error("this tokenizer is of another kind");
    this.ids = new Map(Object.entries(model.vocab));
    this.pieces = []; // by id
    for (const [piece, id] of this.ids) this.pieces[id] = piece;
    this.ranks = new Map(model.merges.map(([left, right], rank) => [key(left, right), rank]));
    this.words = new RegExp(toJavaScript(words.pattern.Regex), "gv");
    this.known = new Map(); // words and their ids
  }

  // Ids of a text, with the end symbol.
  encode(text) {
    return [...(text.match(this.words) ?? []).flatMap((word) => this.word(word)), this.ids.get("</s>")];
  }

  word(word) {
    if (!this.known.has(word)) this.known.set(word, this.merged(word).map((piece) => this.ids.get(piece)));
    return this.known.get(word);
  }

  // The characters of a word, the neighbours that were learnt first merged first.
  merged(word) {
    const pieces = [...word].flatMap((one) => (this.ids.has(one) ? [one] : [...new TextEncoder().encode(one)].map(byteName)));
    for (;;) {
      let best = Infinity, place = -1;
      for (let i = 0; i + 1 < pieces.length; i++) {
        const rank = this.ranks.get(key(pieces[i], pieces[i + 1])) ?? Infinity;
        if (rank < best) [best, place] = [rank, i];
      }
      if (place < 0) return pieces;
      pieces.splice(place, 2, pieces[place] + pieces[place + 1]);
    }
  }

  // The text of ids; bytes that are no UTF-8 become replacement characters.
  decode(ids) {
    let text = "", bytes = [];
    const flush = () => {
      try { text += new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(new Uint8Array(bytes)); }
      catch { text += "\ufffd".repeat(bytes.length); }
      bytes = [];
    };
    for (const piece of ids.map((id) => this.pieces[id])) {
      const byte = /^<0x([0-9A-F]{2})>$/.exec(piece);
      if (byte) { bytes.push(parseInt(byte[1], 16)); continue; }
      flush();
      text += piece;
    }
    flush();
    return text;
  }
}
