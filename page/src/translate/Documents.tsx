// A document goes to the server and comes back translated, as a file to save.
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { save } from "../files/save";
import { t } from "../shell/texts";
import { bundle, client } from "../served/state";

/** "letter.docx" in German is "letter.de.docx". */
export function nameOf(file: string, language: string): string {
  const dot = file.lastIndexOf(".");
  const ending = `.${language || "translated"}`;
  return dot > 0 ? file.slice(0, dot) + ending + file.slice(dot) : file + ending;
}

export function Documents(): JSX.Element {
  const state = useSignal("");
  const input = useRef<HTMLInputElement>(null);
  const send = async (file: File): Promise<void> => {
    const { name = "", target = "" } = bundle.value ?? {};
    state.value = t("documents.working", { name: file.name });
    try {
      save(await client.document(file, name, AbortSignal.timeout(600_000)), nameOf(file.name, target));
      state.value = t("documents.done", { name: nameOf(file.name, target) });
    } catch (error) {
      state.value = t("documents.failed", { name: file.name, why: error instanceof Error ? error.message : String(error) });
    }
  };
  const drop = (event: DragEvent): void => {
    event.preventDefault();
    const file = event.dataTransfer?.files[0];
    if (file) void send(file);
  };
  return (
    <section class="documents" aria-label={t("documents.title")} onDragOver={(event) => event.preventDefault()} onDrop={drop}>
      <button type="button" onClick={() => input.current?.click()}>{t("documents.choose")}</button>
      <input ref={input} type="file" hidden aria-label={t("documents.choose")} onChange={(event) => {
        const file = event.currentTarget.files?.[0];
        event.currentTarget.value = "";
        if (file) void send(file);
      }} />
      <span class="muted">{t("documents.kinds")}</span>
      <p aria-live="polite">{state.value}</p>
    </section>
  );
}
