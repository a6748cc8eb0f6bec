// Tables: Tab goes from cell to cell and adds a row, and the columns of a table that was changed are
// aligned when the editor loses the focus.
import { EditorSelection, StateField, StateEffect, Transaction } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { syntaxTree, ensureSyntaxTree } from "@codemirror/language";

// leadOf returns the length of what a line begins with before a table: the marks of quotes, and that of an item of a list.
const leadOf = (line) => /^[\s>]*(?:(?:[-*+]|\d{1,9}[.)])\s+(?=\|))?/.exec(line)[0].length;

// cellsOf returns the cells of a line, without the spaces around them: [from, to] in the line.
const cellsOf = (line) => {
  const lead = leadOf(line), text = " ".repeat(lead) + line.slice(lead), bars = [];
  for (let i = 0; i < text.length; i++) {
    if (text[i] === "\\") i++;
    else if (text[i] === "|") bars.push(i);
  }
  const start = Math.max(lead, text.length - text.trimStart().length), end = text.trimEnd().length;
  const edges = [start - 1, ...bars.filter((b) => b !== start && b !== end - 1), end];
  if (bars[0] === start) edges[0] = start;
  if (bars.length > 1 && bars.at(-1) === end - 1) edges[edges.length - 1] = end - 1;
  return edges.slice(1).map((to, i) => {
    const from = edges[i] + 1, cell = text.slice(from, to), left = cell.length - cell.trimStart().length;
    return cell.trim() ? [from + left, from + cell.trimEnd().length] : [Math.min(from + 1, to), Math.min(from + 1, to)];
  });
};

const isDelimiter = (text) => /^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/.test(text);

// tableAt returns the lines of the table at a place, or null.
const tableAt = (state, pos) => {
  for (let n = syntaxTree(state).resolveInner(pos, -1); n; n = n.parent) {
    if (n.name === "Table") return { first: state.doc.lineAt(n.from).number, last: state.doc.lineAt(n.to).number };
  }
  const line = state.doc.lineAt(pos), side = syntaxTree(state).resolveInner(line.from + leadOf(line.text), 1);
  for (let n = side; n; n = n.parent) {
    if (n.name === "Table") return { first: state.doc.lineAt(n.from).number, last: state.doc.lineAt(n.to).number };
  }
  return null;
};

// step goes to the next cell, or to the previous one. After the last cell it adds a row.
const step = (by) => (view) => {
  const { state } = view, { head } = state.selection.main, table = tableAt(state, head);
  if (!table) return false;
  const places = [];
  for (let n = table.first; n <= table.last; n++) {
    const line = state.doc.line(n);
    if (n !== table.first + 1) for (const [from, to] of cellsOf(line.text)) places.push({ from: line.from + from, to: line.from + to });
  }
  let at = places.findIndex((p) => head <= p.to);
  if (at < 0) at = places.length - 1;
  const next = places[at + by];
  if (next) {
    view.dispatch({ selection: EditorSelection.range(next.from, next.to), scrollIntoView: true, userEvent: "select" });
    return true;
  }
  if (by < 0) return false;
  const columns = cellsOf(state.doc.line(table.first).text).length, { text, to: end } = state.doc.line(table.last);
  const prefix = text.slice(0, leadOf(text)).replace(/[^>]/g, " ");
  view.dispatch({ changes: { from: end, insert: "\n" + prefix + "|" + "  |".repeat(columns) }, selection: { anchor: end + prefix.length + 3 }, scrollIntoView: true, userEvent: "input" });
  return true;
};

export const tableKeys = [{ key: "Tab", run: step(1), shift: step(-1) }];

// insertTable adds a small table below the line of the cursor.
export const insertTable = (view) => {
  const line = view.state.doc.lineAt(view.state.selection.main.head), empty = !line.text.trim();
  const lead = empty ? (line.number > 1 && view.state.doc.line(line.number - 1).text.trim() ? "\n" : "") : "\n\n";
  const text = lead + "| Column 1 | Column 2 |\n| -------- | -------- |\n|          |          |\n";
  const at = line.to + lead.length + 2;
  view.dispatch({ changes: { from: line.to, insert: text }, selection: EditorSelection.range(at, at + 8), scrollIntoView: true, userEvent: "input" });
  return true;
};

// width returns the number of columns that a text takes in a font of one width.
const wide = /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Extended_Pictographic}/u;
const width = (text) => [...text].reduce((n, c) => n + (/\p{M}/u.test(c) ? 0 : wide.test(c) ? 2 : 1), 0);

// widest is the width of a cell to which others are filled up. A longer cell stands out.
const widest = 60;

// aligned returns the lines of a table with columns of one width. It returns null for a table that would
// grow to more than twice its size and 4,000 characters.
const aligned = (rows) => {
  const indent = /^\s*/.exec(rows[0])[0], cells = rows.map((row) => cellsOf(row).map(([from, to]) => row.slice(from, to)));
  const columns = cells[0].length, widths = Array(columns).fill(3);
  const sides = Array.from({ length: columns }, (_, i) => [/^:/.test(cells[1][i] || ""), /:$/.test(cells[1][i] || "")]);
  cells.forEach((row, r) => row.forEach((cell, i) => {
    const w = r === 1 ? 0 : width(cell);
    if (i < columns && w <= widest) widths[i] = Math.max(widths[i], w);
  }));
  const most = 2 * rows.reduce((n, row) => n + row.length, 0) + 4000;
  if (rows.length * widths.reduce((n, w) => n + w + 3, 1) > most) return null;
  return cells.map((row, r) => {
    const all = Array.from({ length: Math.max(columns, row.length) }, (_, i) => {
      const w = widths[i] || 0, [left, right] = sides[i] || [], cell = row[i] || "", room = Math.max(0, w - width(cell));
      if (r === 1 && i < columns) return (left ? ":" : "-") + "-".repeat(w - 2) + (right ? ":" : "-");
      if (left && right) return " ".repeat(room >> 1) + cell + " ".repeat(room - (room >> 1));
      return right ? " ".repeat(room) + cell : cell + " ".repeat(room);
    });
    return indent + "| " + all.join(" | ") + " |";
  });
};

// touched is the part of the text that was changed since tables were aligned last; null: none.
export const settled = StateEffect.define();
const touched = StateField.define({
  create: () => null,
  update: (value, tr) => {
    if (tr.effects.some((e) => e.is(settled))) return null;
    if (!tr.docChanged) return value;
    let from = value ? tr.changes.mapPos(value.from, -1) : Infinity, to = value ? tr.changes.mapPos(value.to, 1) : 0;
    tr.changes.iterChangedRanges((_a, _b, a, b) => { from = Math.min(from, a); to = Math.max(to, b); });
    return { from, to };
  },
});

// moved returns where a place in a row is after the row was aligned: at the same character of the same cell.
const moved = (row, fresh, at) => {
  const cells = cellsOf(row);
  let i = 0;
  while (i + 1 < cells.length && cells[i + 1][0] <= at) i++;
  const [from, to] = cells[i], [start] = cellsOf(fresh)[i];
  return start + Math.max(0, Math.min(at, to) - from);
};

// align aligns the tables that were changed. The cursor stays in its cell.
export const align = (view) => {
  const { state } = view, range = state.field(touched);
  if (!range) return;
  const tree = ensureSyntaxTree(state, Math.min(range.to, state.doc.length), 200), changes = [], places = [];
  if (tree) tree.iterate({ from: range.from, to: range.to, enter: (n) => {
    if (n.name !== "Table" || n.node.parent.parent) return n.name === "Document";
    const first = state.doc.lineAt(n.from), last = state.doc.lineAt(n.to), rows = state.sliceDoc(first.from, last.to).split("\n");
    const fresh = rows.length > 1 && isDelimiter(rows[1]) && aligned(rows);
    if (fresh) rows.forEach((row, i) => {
      const line = state.doc.line(first.number + i);
      if (fresh[i] === row) return;
      changes.push({ from: line.from, to: line.to, insert: fresh[i] });
      places.push({ line, fresh: fresh[i] });
    });
    return false;
  } });
  const made = state.changes(changes);
  const place = (at) => {
    const row = places.find(({ line }) => line.from <= at && at <= line.to);
    return row ? made.mapPos(row.line.from, -1) + moved(row.line.text, row.fresh, at - row.line.from) : made.mapPos(at);
  };
  const { anchor, head } = state.selection.main;
  view.dispatch({ changes: made, effects: settled.of(null), annotations: Transaction.userEvent.of("input.align"),
    ...(changes.length ? { selection: EditorSelection.single(place(anchor), place(head)) } : {}) });
};

// The focus may go to the panel of the search, or to another window, where nothing needs to be aligned.
export const alignOnBlur = [touched, EditorView.domEventHandlers({
  blur: (event, view) => {
    if (document.hasFocus() && !view.dom.contains(event.relatedTarget)) setTimeout(() => { if (!view.hasFocus) align(view); });
  },
})];
