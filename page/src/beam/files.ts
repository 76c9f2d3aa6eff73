// The search as files: the tree in view as SVG with title and legend, all of its nodes as CSV.
import { escaped, field, width } from "../files/fields";
import { head } from "../files/table";
import { visible } from "../text/words";
import { textOf, type SearchTree } from "./data";
import type { Placed } from "./layout";

const [ACROSS, DOWN, TOP, LEFT] = [132, 40, 84, 24];
const COLOURS = { best: "#0068a3", finished: "#00705a", kept: "#1d2126", dropped: "#5b6270" } as const;

export interface Named {
  readonly title: string;
  readonly steps: string;
  readonly legend: Readonly<Record<keyof typeof COLOURS, string>>;
}

export function svgOf(all: readonly Placed[], best: ReadonlySet<number>, names: Named): string {
  const rows = new Map(all.map(({ node, row }) => [node.id, row]));
  const last = all.reduce((most, { node }) => Math.max(most, node.step), 0);
  const high = TOP + DOWN * (all.reduce((most, { row }) => Math.max(most, row), 0) + 1) + 20;
  const wide = Math.max(LEFT + ACROSS * (last + 1) + 20, width(names.title) + 40, 640);
  const look = ({ node }: Placed): keyof typeof COLOURS => (best.has(node.id) ? "best" : node.fate);
  const lines = all.flatMap((one) => {
    const from = one.node.parent === null ? undefined : rows.get(one.node.parent);
    if (from === undefined) return [];
    const [x, y, toX, toY] = [LEFT + ACROSS * (one.node.step - 1) + 100, TOP + DOWN * from, LEFT + ACROSS * one.node.step - 4, TOP + DOWN * one.row];
    return `<path d="M${x} ${y}C${x + 12} ${y} ${toX - 12} ${toY} ${toX} ${toY}" fill="none" stroke="${COLOURS[look(one)]}" stroke-width="${best.has(one.node.id) ? 2 : 1}"${one.node.fate === "dropped" ? ' stroke-dasharray="4 3"' : ""}/>`;
  });
  const texts = all.map((one) => {
    const [x, y] = [LEFT + ACROSS * one.node.step, TOP + DOWN * one.row];
    const numbers = one.node.step > 0 ? `${one.node.logProbability.toFixed(2)} · ${one.node.score.toFixed(2)}` : "";
    return `<text x="${x}" y="${y + 1}" fill="${COLOURS[look(one)]}">${escaped(visible(one.node.piece))}</text><text x="${x}" y="${y + 14}" font-size="10" fill="#5b6270">${numbers}</text>`;
  });
  const key = (["best", "finished", "kept", "dropped"] as const).map((name, place) => `<text x="${LEFT + 150 * place}" y="52" font-size="12" fill="${COLOURS[name]}">${name === "dropped" ? "- - " : "— "}${escaped(names.legend[name])}</text>`);
  return [
    head(wide, high),
    `<title>${escaped(names.title)}</title><rect width="100%" height="100%" fill="#fbfaf7"/>`,
    `<text x="${LEFT}" y="28" font-size="16" font-weight="600" fill="#1d2126">${escaped(names.title)}</text>`,
    ...key, `<text x="${LEFT}" y="${high - 6}" font-size="11" fill="#5b6270">${escaped(names.steps)}</text>`,
    ...lines, ...texts, "</svg>",
  ].join("\n");
}

export function csvOf(tree: SearchTree): string {
  const rows = tree.nodes.map((node) => [node.id, node.parent ?? "", node.step, field(node.piece), field(textOf(tree, node.id)), node.logProbability, node.score, node.rank, node.fate, node.reason].join(","));
  return ["id,parent,step,piece,text,log_probability,score,rank,fate,reason", ...rows, ""].join("\r\n");
}
