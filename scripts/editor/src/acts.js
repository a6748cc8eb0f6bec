// What the buttons above the text do, and their keys.
import { EditorSelection } from "@codemirror/state";
import { undo, redo } from "@codemirror/commands";
import { syntaxTree } from "@codemirror/language";
import { openSearchPanel } from "@codemirror/search";
import { startCompletion } from "@codemirror/autocomplete";
import { insertTable } from "./tables.js";

// head is how a line of a list, a quote or a heading begins.
const head = /^(?:\s*(?:>\s?)*)(?:\s*(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?)?(?:#{1,6}\s+)?/;

// pieces returns what a mark goes around: the selected part of each line without the marks that the
// line begins with, or the word at the cursor.
const pieces = (state, range) => {
  if (range.empty) {
    const word = state.wordAt(range.head);
    return word ? [{ from: word.from, to: word.to }] : [];
  }
  const out = [];
  for (let n = state.doc.lineAt(range.from).number; n <= state.doc.lineAt(range.to).number; n++) {
    const line = state.doc.line(n);
    let from = Math.max(range.from, line.from + head.exec(line.text)[0].length), to = Math.min(range.to, line.to);
    while (from < to && /\s/.test(state.sliceDoc(from, from + 1))) from++;
    while (to > from && /\s/.test(state.sliceDoc(to - 1, to))) to--;
    if (from < to) out.push({ from, to });
  }
  return out;
};

// around reports whether the mark is outside of a piece (2), within it (1), or not there (0). A single
// star beside a second one belongs to the mark of two stars.
const around = (state, { from, to }, mark) => {
  const n = mark.length, beside = (a, b) => mark === "*" && (state.sliceDoc(a, a + 1) === "*" || state.sliceDoc(b, b + 1) === "*");
  if (state.sliceDoc(from - n, from) === mark && state.sliceDoc(to, to + n) === mark && !beside(from - 2, to + 1)) return 2;
  if (to - from > 2 * n && state.sliceDoc(from, from + n) === mark && state.sliceDoc(to - n, to) === mark && !beside(from + 1, to - 2)) return 1;
  return 0;
};

// wrap puts a mark around the selection, or takes it away.
const wrap = (mark, ...others) => (view) => {
  const { state } = view, n = mark.length;
  view.dispatch(state.update(state.changeByRange((range) => {
    const parts = pieces(state, range);
    if (!parts.length) {
      if (around(state, range, mark)) {
        return { changes: { from: range.from - n, to: range.to + n }, range: EditorSelection.cursor(range.from - n) };
      }
      return { changes: { from: range.from, to: range.to, insert: mark + mark }, range: EditorSelection.cursor(range.from + n) };
    }
    const used = [mark, ...others].find((m) => parts.every((p) => around(state, p, m)));
    const changes = state.changes(parts.flatMap(({ from, to }) => {
      if (!used) return [{ from, insert: mark }, { from: to, insert: mark }];
      const m = used.length;
      return around(state, { from, to }, used) === 2
        ? [{ from: from - m, to: from }, { from: to, to: to + m }]
        : [{ from, to: from + m }, { from: to - m, to }];
    }));
    if (range.empty) return { changes, range: EditorSelection.cursor(changes.mapPos(range.head, -1) + (used || range.head > parts[0].from ? 0 : n)) };
    return { changes, range: EditorSelection.range(changes.mapPos(parts[0].from, used ? -1 : 1), changes.mapPos(parts.at(-1).to, used ? 1 : -1)) };
  }), { scrollIntoView: true, userEvent: "input" }));
  return true;
};

// link makes a link of the selected text, or offers documents.
const link = (view) => {
  const { state } = view, range = state.selection.main, text = state.sliceDoc(range.from, range.to);
  if (!text || text.includes("\n")) {
    view.dispatch({ changes: { from: range.to, insert: "[]()" }, selection: { anchor: range.to + 1 }, userEvent: "input" });
    startCompletion(view);
    return true;
  }
  const address = /^(?:https?:\/\/|mailto:)\S+$/.test(text), made = address ? `[](${text})` : `[${text}]()`;
  view.dispatch({ changes: { from: range.from, to: range.to, insert: made }, userEvent: "input",
    selection: { anchor: range.from + (address ? 1 : made.length - 1) } });
  if (!address) startCompletion(view);
  return true;
};

// The kinds of lines that a button makes: how one begins, and what is written before its text.
const kinds = {
  bullets: { is: /^(\s*)[-*+]\s+(?!\[[ xX]\]\s)/, put: () => "- " },
  numbers: { is: /^(\s*)\d{1,9}[.)]\s+/, put: (n) => n + ". " },
  tasks: { is: /^(\s*)[-*+]\s+\[[ xX]\]\s+/, put: () => "- [ ] " },
  quote: { is: /^(\s*)>\s?/, put: () => "> " },
};
const anyItem = /^(\s*)(?:(?:[-*+]|\d{1,9}[.)])\s+)(?:\[[ xX]\]\s+)?/;

// lines gives the selected lines a kind, or takes it away if all of them have it.
const lines = (name) => (view) => {
  const { state } = view, { is, put } = kinds[name], all = selectedLines(state);
  const full = all.filter((line) => line.text.trim()), chosen = full.length ? full : all.slice(0, 1);
  const off = chosen.every((line) => is.test(line.text));
  let count = 0;
  const changes = chosen.map((line) => {
    const there = (off ? is : name === "quote" ? /^(\s*)/ : anyItem).exec(line.text), indent = there ? there[1] : /^\s*/.exec(line.text)[0];
    return { from: line.from + indent.length, to: line.from + (there ? there[0].length : indent.length), insert: off ? "" : put(++count) };
  });
  const made = state.changes(changes);
  view.dispatch({ changes: made, selection: state.selection.map(made, 1), userEvent: "input", scrollIntoView: true });
  return true;
};

const selectedLines = (state) => {
  const { from, to } = state.selection.main, out = [], last = state.doc.lineAt(to).number;
  for (let n = state.doc.lineAt(from).number; n <= last; n++) out.push(state.doc.line(n));
  return out;
};

// heading makes the line a heading of level 2, then 3, then 4, then none.
const heading = (view) => {
  const line = view.state.doc.lineAt(view.state.selection.main.head), [marks] = /^(?:#{1,6}\s+)?/.exec(line.text), level = marks.trim().length;
  const insert = level === 0 ? "## " : level < 4 ? "#".repeat(level + 1) + " " : "";
  view.dispatch({ changes: { from: line.from, to: line.from + marks.length, insert }, userEvent: "input", scrollIntoView: true });
  return true;
};

// item is a line of a list: its indent, its mark, and the space after the mark.
const item = /^(\s*)([-*+]|\d{1,9}[.)])(\s+)/;
const indentOf = (text) => /^\s*/.exec(text)[0].length;

const within = (state, pos, name) => {
  for (let n = syntaxTree(state).resolveInner(pos, -1); n; n = n.parent) if (n.name === name) return true;
  return false;
};

// inList reports whether the cursor is in a list. A new item without a text is one too.
const inList = (state) => {
  const { head } = state.selection.main, line = state.doc.lineAt(head);
  return item.test(line.text) && !within(state, head, "FencedCode") || within(state, head, "ListItem");
};

// blockOf returns the number of the last line that belongs to the item on a line: those that are indented more.
const blockOf = (doc, line) => {
  const own = indentOf(line.text);
  let last = line.number;
  for (let n = line.number + 1; n <= doc.lines; n++) {
    const { text } = doc.line(n);
    if (text.trim() && indentOf(text) <= own) break;
    if (text.trim()) last = n;
  }
  return last;
};

// before returns the nearest item above a line that fits, or null. It ends at a line that ends the list.
const before = (doc, line, fits) => {
  for (let n = line.number - 1; n > 0; n--) {
    const { text } = doc.line(n), found = item.exec(text);
    if (found && fits(found)) return found;
    if (text.trim() && !indentOf(text) && !found) return null;
  }
  return null;
};

// shift moves the items of the selected lines below the item before them, or out to the level above.
const shift = (deeper) => (view) => {
  const { state } = view, { doc } = state;
  if (!inList(state)) return false;
  const changes = [];
  let done = 0;
  for (const line of selectedLines(state)) {
    const here = item.exec(line.text);
    if (!here || line.number <= done) continue;
    const own = here[1].length;
    const goal = deeper ? before(doc, line, (i) => i[1].length <= own) : before(doc, line, (i) => i[1].length < own);
    const to = deeper ? (goal && goal[1].length === own ? goal[0].length : own) : goal ? goal[1].length : 0;
    if (to === own) continue;
    done = blockOf(doc, line);
    const beside = before(doc, line, (i) => i[1].length <= to);
    for (let n = line.number; n <= done; n++) {
      const { from, text } = doc.line(n), indent = indentOf(text);
      if (text.trim()) changes.push({ from, to: from + indent, insert: " ".repeat(Math.max(0, indent + to - own)) });
    }
    if (/\d/.test(here[2])) {
      const number = beside && beside[1].length === to && /\d/.test(beside[2]) ? parseInt(beside[2], 10) + 1 : 1;
      changes.push({ from: line.from + own, to: line.from + own + here[2].length - 1, insert: String(number) });
    }
  }
  if (changes.length) view.dispatch({ changes, userEvent: deeper ? "input.indent" : "delete.dedent", scrollIntoView: true });
  return true;
};

// endBlock ends a list or a quote at an item without a text: with an empty line, because text right below
// would still belong to the item. An inner item goes out by one level.
const endBlock = (view) => {
  const { state } = view, { empty, head } = state.selection.main, line = state.doc.lineAt(head);
  if (!empty || head !== line.to || !/^\s*(?:(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s*)?|>\s*)$/.test(line.text) || within(state, head, "FencedCode")) return false;
  if (indentOf(line.text)) return shift(false)(view);
  const above = line.number > 1 && state.doc.line(line.number - 1).text.trim() ? "\n" : "";
  view.dispatch({ changes: { from: line.from, to: line.to, insert: above }, selection: { anchor: line.from + above.length }, userEvent: "delete", scrollIntoView: true });
  return true;
};

export const acts = {
  heading, link, bold: wrap("**", "__"), italic: wrap("_", "*"), code: wrap("`"), ...Object.fromEntries(Object.keys(kinds).map((k) => [k, lines(k)])),
  table: insertTable, find: openSearchPanel, undo, redo,
};

// Ctrl-K is the search of the console elsewhere: in the editor it ends here.
export const editKeys = [
  { key: "Mod-b", run: acts.bold, preventDefault: true },
  { key: "Mod-i", run: acts.italic, preventDefault: true },
  { key: "Mod-e", run: acts.code, preventDefault: true },
  { key: "Mod-k", run: acts.link, preventDefault: true, stopPropagation: true },
  { key: "Tab", run: shift(true), shift: shift(false) },
  { key: "Enter", run: endBlock },
];
