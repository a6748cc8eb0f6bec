// Links to documents: after a bracket, the documents whose titles have the typed words are offered.
import { syntaxTree } from "@codemirror/language";

export const linkText = (title) => title.replace(/[\\[\]`*_<]/g, "\\$&");

const inCode = (state, pos) => {
  for (let n = syntaxTree(state).resolveInner(pos, -1); n; n = n.parent) if (/Code|HTMLBlock/.test(n.name)) return true;
  return false;
};

// documentLinks completes `[words`, `[[words` and the address in `[text](words`. find returns the documents
// for the words, the most recently changed first: {id, title, path}.
export const documentLinks = (find) => async (context) => {
  const { state, pos } = context;
  const address = context.matchBefore(/\]\([^()\s<>]{0,100}/), text = address ? null : context.matchBefore(/\[\[?[^[\]\n]{0,100}/);
  const typed = address || text;
  if (!typed || inCode(state, pos)) return null;
  const words = typed.text.replace(/^(?:\]\(|\[\[?)/, ""), line = state.doc.lineAt(pos), lead = state.sliceDoc(line.from, typed.from);
  if (address && /^(?:[a-z]+:|[/#.])/i.test(words)) return null;
  if (text && (lead.endsWith("!") || lead.endsWith("\\"))) return null;
  // The box of a task, `- [ ]` and `- [x]`, is no link.
  if (text && !context.explicit && /^\s*(?:>\s?)*(?:[-*+]|\d+[.)])\s+$/.test(lead) && /^[ xX]?$/.test(words)) return null;
  const stop = new AbortController();
  context.addEventListener("abort", () => stop.abort());
  const found = await find(words.trim(), stop.signal).catch(() => []);
  if (!found.length || context.aborted) return null;
  const closing = text ? /^\]{0,2}(?:\(\))?/.exec(state.sliceDoc(pos, pos + 4))[0].length : 0;
  return {
    from: typed.from, to: pos + closing, filter: false,
    options: found.map((d) => ({
      label: d.title, detail: d.path,
      apply: (view, _, from, to) => {
        const insert = address ? "](document:" + d.id : `[${linkText(d.title)}](document:${d.id})`;
        const after = address && view.state.sliceDoc(to, to + 1) === ")" ? 1 : 0;
        view.dispatch({ changes: { from, to, insert }, selection: { anchor: from + insert.length + after }, userEvent: "input.complete", scrollIntoView: true });
      },
    })),
  };
};
