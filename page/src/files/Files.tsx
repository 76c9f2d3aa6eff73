// A figure as files: SVG, the same as PNG, and its numbers as CSV.
import type { JSX } from "preact";
import { t } from "../shell/texts";
import { pngOf, save } from "./save";

interface FilesProps {
  /** Of the files, without their ending. */
  readonly name: string;
  readonly svg: () => string | Promise<string>;
  readonly csv: () => string;
}

export function Files({ name, svg, csv }: FilesProps): JSX.Element {
  const saveSvg = async (): Promise<void> => save(new Blob([await svg()], { type: "image/svg+xml" }), `${name}.svg`);
  const savePng = async (): Promise<void> => save(await pngOf(await svg()), `${name}.png`);
  // The first character tells spreadsheets that the text is UTF-8.
  const saveCsv = (): void => save(new Blob(["\ufeff", csv()], { type: "text/csv" }), `${name}.csv`);
  return (
    <p class="files">
      {t("files.save")}{" "}
      <button type="button" data-save="svg" onClick={() => void saveSvg()}>SVG</button>{" "}
      <button type="button" data-save="png" onClick={() => void savePng()}>PNG</button>{" "}
      <button type="button" data-save="csv" onClick={saveCsv}>CSV</button>
    </p>
  );
}
