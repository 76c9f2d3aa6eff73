// A matrix as a real table: one tab stop, arrows move, Enter acts on a cell, and given cells are edited in place.
import { useSignal, type Signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Cell } from "./state";

export interface Look {
  readonly text: string;
  readonly lit?: boolean;
  readonly chosen?: boolean;
  readonly changed?: boolean;
  readonly masked?: boolean;
  readonly hidden?: boolean;
  readonly title?: string | undefined;
  readonly background?: string | undefined;
}

export interface GridProps {
  readonly name: string;
  readonly kind: string;
  readonly rows: readonly string[];
  readonly columns: readonly string[];
  readonly active: Cell;
  readonly look: (row: number, column: number) => Look;
  readonly onActive: (row: number, column: number) => void;
  readonly onEnter: (row: number, column: number) => void;
  /** For given values: takes what was typed and says whether it can be. */
  readonly onEdit?: (row: number, column: number, text: string) => boolean;
  readonly editLabel?: (row: number, column: number) => string;
  /** Enter and a click switch the cell instead of editing it. */
  readonly switches?: boolean;
  readonly focusWish?: number;
}

interface Editing extends Cell {
  readonly text: string;
  readonly wrong: boolean;
}

const MOVES: Readonly<Record<string, readonly [number, number]>> = {
  ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
};

function moved(key: string, { row, column }: Cell, rows: number, columns: number): Cell | undefined {
  if (key === "Home") return { row, column: 0 };
  if (key === "End") return { row, column: columns - 1 };
  const by = MOVES[key];
  if (!by) return undefined;
  const clamp = (value: number, size: number): number => Math.min(Math.max(0, value), size - 1);
  return { row: clamp(row + by[0], rows), column: clamp(column + by[1], columns) };
}

function classes(look: Look): string {
  const marks = ["lit", "chosen", "changed", "masked", "hidden"] as const;
  return marks.filter((mark) => look[mark]).join(" ");
}

function focusCell(table: HTMLTableElement | null, { row, column }: Cell): void {
  table?.querySelector<HTMLElement>(`td[data-cell="${row},${column}"]`)?.focus({ preventScroll: false });
}

function Editor({ editing, props, table }: { editing: Signal<Editing | null>; props: GridProps; table: HTMLTableElement | null }): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  const at = editing.value ?? { row: 0, column: 0, text: "", wrong: false };
  useEffect(() => input.current?.focus(), []);
  const finish = (keep: boolean): void => {
    if (editing.value === null) return;
    const text = input.current?.value ?? "";
    if (keep && !props.onEdit?.(at.row, at.column, text)) {
      editing.value = { ...at, text, wrong: true };
      return;
    }
    editing.value = null;
    requestAnimationFrame(() => focusCell(table, at));
  };
  return (
    <input
      ref={input}
      class="editor"
      inputMode="decimal"
      aria-label={props.editLabel?.(at.row, at.column)}
      aria-invalid={at.wrong}
      defaultValue={at.text}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key === "Enter") finish(true);
        if (event.key === "Escape") finish(false);
      }}
      onBlur={() => {
        if (editing.value?.wrong) editing.value = null;
        else finish(true);
      }}
    />
  );
}

export function Grid(props: GridProps): JSX.Element {
  const { rows, columns, active } = props;
  const table = useRef<HTMLTableElement>(null);
  const editing = useSignal<Editing | null>(null);
  useEffect(() => {
    if (props.focusWish) focusCell(table.current, active);
  }, [props.focusWish]);

  const edit = (row: number, column: number, text: string): void => {
    editing.value = { row, column, text, wrong: false };
  };
  const enter = (row: number, column: number): void => {
    if (props.onEdit && !props.switches) edit(row, column, props.look(row, column).text.replace("−", "-"));
    else props.onEnter(row, column);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const to = moved(event.key, active, rows.length, columns.length);
    if (to) {
      props.onActive(to.row, to.column);
      focusCell(table.current, to);
    } else if (event.key === "Enter" || event.key === "F2") enter(active.row, active.column);
    else if (props.onEdit && !props.switches && /^[-.\d]$/.test(event.key)) edit(active.row, active.column, event.key);
    else return;
    event.preventDefault();
  };
  const onClick = (row: number, column: number): void => {
    props.onActive(row, column);
    if (props.onEdit) enter(row, column);
  };

  return (
    <table ref={table} role="grid" class={`grid ${props.kind}`} aria-label={props.name} aria-readonly={!props.onEdit} onKeyDown={onKeyDown}>
      {columns.some((name) => name !== "") && (
        <thead>
          <tr>
            <td />
            {columns.map((name, column) => <th key={column} scope="col"><bdi>{name}</bdi></th>)}
          </tr>
        </thead>
      )}
      <tbody>
        {rows.map((name, row) => (
          <tr key={row}>
            <th scope="row"><bdi>{name || "·"}</bdi></th>
            {columns.map((_, column) => {
              const look = props.look(row, column);
              const isActive = active.row === row && active.column === column;
              const isEdited = editing.value?.row === row && editing.value.column === column;
              return (
                <td
                  key={column}
                  role="gridcell"
                  data-cell={`${row},${column}`}
                  tabIndex={isActive ? 0 : -1}
                  class={classes(look)}
                  aria-selected={look.chosen ?? false}
                  title={look.title}
                  style={look.background ? { backgroundColor: look.background } : {}}
                  onClick={() => { if (!isEdited) onClick(row, column); }}
                  onDblClick={() => { if (!props.onEdit) props.onEnter(row, column); }}
                  onFocus={() => { if (!isActive) props.onActive(row, column); }}
                >
                  {isEdited ? <Editor editing={editing} props={props} table={table.current} /> : look.text}
                </td>
              );
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
