// Builds page.js and page.css. The folder is an argument, so that a test can build elsewhere and compare.
import { build } from "esbuild";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const out = process.argv[2] ?? fileURLToPath(new URL("../src/openwork/inspection/page/static", import.meta.url));

await build({
  absWorkingDir: here,
  entryPoints: { page: "src/main.tsx", style: "src/page.css" },
  outdir: out,
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "utf8",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
});
