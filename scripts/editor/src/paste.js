// What is pasted and dropped: files are handed on, formatted text becomes Markdown, an address becomes a
// link where text is selected, and the address of a document becomes a link to the document.
import { EditorView } from "@codemirror/view";
import { syntaxTree } from "@codemirror/language";
import { linkText } from "./links.js";

// The bounds of what is converted: beyond them, the plain text is pasted.
const longest = 1 << 20, deepest = 60, mostCells = 100_000;

const isIn = (state, pos, what) => {
  for (let n = syntaxTree(state).resolveInner(pos, -1); n; n = n.parent) if (what.test(n.name)) return true;
  return false;
};

const formats = "a[href], b, strong, i, em, del, s, strike, code, pre, kbd, sub, sup, mark, h1, h2, h3, h4, h5, h6, ul, ol, blockquote, table, hr, img";

// Elements that begin a line of their own. Some are only containers.
const blocks = new Set(["P", "DIV", "H1", "H2", "H3", "H4", "H5", "H6", "UL", "OL", "LI", "BLOCKQUOTE", "PRE", "TABLE", "HR", "SECTION", "ARTICLE", "MAIN", "HEADER",
  "FOOTER", "NAV", "ASIDE", "FIGURE", "FIGCAPTION", "DL", "DT", "DD", "ADDRESS", "FORM", "BODY", "DETAILS", "SUMMARY"]);
const ignored = new Set(["SCRIPT", "STYLE", "TEMPLATE", "NOSCRIPT", "TITLE", "META", "LINK", "HEAD", "IFRAME", "SVG", "BUTTON", "INPUT", "SELECT", "TEXTAREA"]);
const marks = { STRONG: "bold", B: "bold", EM: "soft", I: "soft", DEL: "struck", S: "struck", STRIKE: "struck" };
const kept = new Set(["KBD", "SUB", "SUP", "MARK"]);
const codes = new Set(["CODE", "TT", "SAMP"]);
const nameOf = (node) => node.nodeName.toUpperCase();

// escaped returns a text whose characters mean nothing in Markdown. An underscore within a word means nothing anyway.
const escaped = (text) => text.replace(/[\\`*[\]<~|]|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu, "\\$&").replace(/&(?=#?\w+;)/g, "\\&");
const escapedStart = (line) => (/^[-=:][-=:\s]*$/.test(line) ? "\\" + line
  : line.replace(/^(#{1,6}(?=\s|$)|[-+](?=\s|$)|>)/, "\\$1").replace(/^(\d{1,9})([.)])(?=\s|$)/, "$1\\$2"));

// escapedText is escaped for a text in which addresses may stand: in those, nothing is escaped.
const escapedText = (text) => {
  let out = "", done = 0;
  for (const { 0: found, index } of text.matchAll(/(?:https?:\/\/|www\.)[^\s<>"\\`[\]{}|^]+/g)) {
    let end = found.length;
    while (end && ".,;:!?'*_~()".includes(found[end - 1])) end--;
    const address = found.slice(0, end);
    if (!/[*_~]/.test(address)) continue;
    out += escaped(text.slice(done, index)) + (address.startsWith("www.") ? address : `<${address}>`);
    done = index + end;
  }
  return out + escaped(text.slice(done));
};

const encodings = { "(": "%28", ")": "%29", "|": "%7C" };
const webAddress = (address) => (/^(?:https?:\/\/|mailto:)[^\s<>]+$/i.test(address || "") ? address.replace(/[()|]/g, (c) => encodings[c]) : "");

// fence returns a run of backticks that is longer than every run in the text.
const fence = (text, least) => {
  for (const m of text.matchAll(/`+/g)) least = Math.max(least, m[0].length + 1);
  return "`".repeat(least);
};

// codeText returns the text of code. A <br> and an element that begins a line do so here as well.
const codeText = (node) => {
  const out = [];
  let open = false; // the line has a text
  const add = (text) => { if (text) { out.push(text); open = !text.endsWith("\n"); } };
  const walk = (parent, depth) => {
    for (const child of parent.childNodes) {
      const name = nameOf(child), block = blocks.has(name) || name === "TR";
      if (child.nodeType === Node.TEXT_NODE) add(child.data);
      else if (child.nodeType !== Node.ELEMENT_NODE || ignored.has(name)) continue;
      else if (name === "BR") add("\n");
      else {
        if (block && open) add("\n");
        if (depth > deepest) add(child.textContent);
        else walk(child, depth + 1);
        if (block && open) add("\n");
      }
    }
  };
  walk(node, 0);
  return out.join("").replace(/\u00a0/g, " ");
};

// A line of text is read into pieces: {text} with the marks that hold for it. `code` and `image` are no plain text, and
// `line` begins a new line. A piece is bold, soft and struck by true; its link, and its tag, is one object for all pieces
// within an element.
const within = (node, marked) => {
  const name = nameOf(node), style = (node.dataset && node.dataset.style) || "", out = { ...marked };
  if (marks[name]) out[marks[name]] = true;
  if (kept.has(name)) out.tag = { name: name.toLowerCase() };
  if (name === "A") {
    const href = webAddress(node.getAttribute("href"));
    if (href) out.link = { href, plain: node.getAttribute("href") };
  }
  // Some programs say it by styles, and put a whole document into a <b> of usual weight. A heading is bold by itself.
  const weight = /^H[1-6]$/.test(name) ? null : /font-weight:\s*(\w+)/.exec(style);
  if (weight) out.bold = /^(?:bold|bolder|[6-9]\d\d)$/.test(weight[1]);
  const slant = /font-style:\s*(\w+)/.exec(style);
  if (slant) out.soft = /^(?:italic|oblique)$/.test(slant[1]);
  if (/text-decoration(?:-line)?:[^;]*line-through/.test(style)) out.struck = true;
  return out;
};

const read = (node, marked, depth, into) => {
  if (node.nodeType === Node.TEXT_NODE) { into.push({ ...marked, text: node.data }); return; }
  const name = nameOf(node);
  if (node.nodeType !== Node.ELEMENT_NODE || ignored.has(name)) return;
  if (name === "BR") into.push({ ...marked, line: true, text: "" });
  else if (codes.has(name)) into.push({ ...within(node, marked), code: true, text: codeText(node) });
  else if (name === "IMG") {
    const src = /^https?:/i.test(node.getAttribute("src") || "") ? webAddress(node.getAttribute("src")) : "";
    if (src) into.push({ ...marked, image: src, text: node.getAttribute("alt") || "" });
  } else if (depth > deepest) into.push({ ...marked, text: node.textContent });
  else {
    const own = within(node, marked), apart = blocks.has(name) || name === "TR" || name === "TD" || name === "TH";
    if (apart) into.push({ ...marked, text: " " });
    for (const child of node.childNodes) read(child, own, depth + 1, into);
    if (apart) into.push({ ...marked, text: " " });
  }
};

// tidy leaves single spaces between the pieces, and none and no line break at the ends.
const tidy = (pieces) => {
  const out = [];
  let spaced = true;
  const trim = () => {
    const last = out.at(-1);
    if (!last || last.line || last.code || last.image || !last.text.endsWith(" ")) return;
    last.text = last.text.slice(0, -1);
    if (!last.text) out.pop();
  };
  for (const piece of pieces) {
    if (piece.line) {
      if (!out.length) continue;
      trim();
      out.push({ ...piece });
      spaced = true;
    } else if (piece.image) {
      out.push({ ...piece, text: piece.text.replace(/\s+/g, " ") });
      spaced = false;
    } else {
      let text = piece.text.replace(/[\s\u00a0]+/g, " ");
      const code = piece.code && text.trim() !== "";
      if (spaced && !code && text.startsWith(" ")) text = text.slice(1);
      if (!text) continue;
      const last = out.at(-1);
      if (code && last && last.code && kinds.every((k) => last[k] === piece[k])) last.text += text;
      else out.push({ ...piece, code, text });
      spaced = !code && text.endsWith(" ");
    }
  }
  trim();
  while (out.length && out.at(-1).line) { out.pop(); trim(); }
  return out;
};

const kinds = ["link", "bold", "soft", "struck", "tag"];
const marksOnly = new Set(["bold", "soft", "struck"]);
const isWord = (char) => /[\p{L}\p{M}\p{N}]/u.test(char);
const isPlain = (piece) => !piece.line && !piece.code && !piece.image;
const firstOf = (text) => String.fromCodePoint(text.codePointAt(0));
const lastOf = (text) => { const two = text.slice(-2); return two.length === 2 && two.codePointAt(0) > 0xffff ? two : text.slice(-1); };

// edge returns the first or last character that a piece will have in the Markdown: a word's, a space, or some other.
const edge = (piece, of) => (!piece || piece.line ? " " : isPlain(piece) && !piece.tag ? of(piece.text) : "`");

// placed takes a mark from the ends of its runs where Markdown would not read it: spaces, and a character that belongs to no
// word beside one that does, as in **this:**that.
const placed = (pieces, kind) => {
  const out = [];
  for (let at = 0; at < pieces.length;) {
    const value = pieces[at][kind];
    if (!value) { out.push(pieces[at++]); continue; }
    let end = at;
    while (end < pieces.length && pieces[end][kind] === value) end++;
    const run = pieces.slice(at, end), link = run.every((p) => p.link === run[0].link) ? run[0].link : null;
    const before = pieces[at - 1], after = pieces[end];
    let left = link && before?.link !== link ? "[" : edge(before, lastOf), right = link && after?.link !== link ? "]" : edge(after, firstOf);
    let from = 0, to = run.length;
    const bare = (piece) => ({ ...piece, [kind]: undefined }), tail = [];
    while (from < to && (run[from].line || isPlain(run[from]) && run[from].text === " ")) { out.push(bare(run[from++])); left = " "; }
    while (to > from && (run[to - 1].line || isPlain(run[to - 1]) && run[to - 1].text === " ")) { tail.push(bare(run[--to])); right = " "; }
    const leave = (first) => { // takes the mark from a whole piece
      const piece = bare(run[first ? from++ : --to]);
      (first ? out : tail).push(piece);
      if (first) left = edge(piece, lastOf); else right = edge(piece, firstOf);
      return true;
    };
    const peel = (first) => {
      const at = first ? from : to - 1, piece = run[at], flanked = marksOnly.has(kind) && isWord(first ? left : right);
      const char = isPlain(piece) ? (first ? firstOf : lastOf)(piece.text) : "";
      if (char !== " " && !flanked) return false;
      if (!char || piece.tag || piece.struck && kind !== "struck") return char === " " ? false : leave(first);
      if (char !== " " && isWord(char)) return false;
      if (piece.text === char) return leave(first);
      const parts = first ? [char, piece.text.slice(char.length)] : [piece.text.slice(0, -char.length), char];
      run[at] = { ...piece, text: parts[first ? 1 : 0] };
      (first ? out : tail).push(bare({ ...piece, text: char }));
      if (first) left = char; else right = char;
      return true;
    };
    while (from < to && peel(true));
    while (from < to && peel(false));
    while (from < to) out.push(run[from++]);
    while (tail.length) out.push(tail.pop());
    at = end;
  }
  return out;
};

// written returns the Markdown of pieces. The mark that holds longest goes outside. `cell` is for a cell of a table, in
// which a bar is escaped wherever it stands.
const written = (pieces, cell) => {
  for (const kind of ["link", "tag", "bold", "soft", "struck"]) if (pieces.some((p) => p[kind])) pieces = placed(pieces, kind);
  const one = (piece, next) => {
    if (piece.line) return cell ? "<br>" : "\\\n";
    if (piece.image) return `![${escaped(piece.text)}](${piece.image})`;
    if (piece.code) {
      const run = fence(piece.text, 1), pad = /^`|`$|^ .* $/.test(piece.text) ? " " : "";
      return run + pad + piece.text + pad + run;
    }
    const text = escapedText(piece.text);
    return text.endsWith("!") && next && next.link && next.link !== piece.link ? text.slice(0, -1) + "\\!" : text;
  };
  const part = (from, to, used) => {
    const out = [];
    for (let at = from; at < to;) {
      let chosen = null, until = at;
      for (const kind of kinds) {
        const value = pieces[at][kind];
        if (!value || used.includes(kind)) continue;
        let end = at;
        while (end < to && pieces[end][kind] === value) end++;
        if (end > until) [chosen, until] = [kind, end];
      }
      if (!chosen) { out.push(one(pieces[at], pieces[at + 1])); at++; continue; }
      const only = until - at === 1 && isPlain(pieces[at]) && !kinds.some((k) => k !== "link" && pieces[at][k]) ? pieces[at].text : null;
      const value = pieces[at][chosen], inner = () => part(at, until, [...used, chosen]);
      if (chosen === "link") out.push(only === value.plain ? `<${value.plain.replace(/\|/g, "%7C")}>` : `[${inner()}](${value.href})`);
      else if (chosen === "tag") out.push(`<${value.name}>${inner()}</${value.name}>`);
      else {
        const inWord = isWord(edge(pieces[at - 1], lastOf)) || isWord(edge(pieces[until], firstOf));
        const mark = chosen === "bold" ? "**" : chosen === "struck" ? "~~" : inWord ? "*" : "_";
        out.push(mark + inner() + mark);
      }
      at = until;
    }
    return out.join("");
  };
  const text = part(0, pieces.length, []);
  return cell ? text.replace(/\\?\|/g, "\\|") : text;
};

const withinLine = (node, marked, depth, cell) => {
  const pieces = [];
  for (const child of node.childNodes) read(child, marked, depth + 1, pieces);
  return written(tidy(cell ? pieces : pieces.map((p) => (p.line ? { text: " " } : p))), cell);
};

const indented = (text, first, rest) => first + text.replace(/\n(?=[^\n])/g, "\n" + rest);

// joined returns blocks as one text. In an item of a list, an inner list follows its text at once, unless the text would
// swallow it.
const joined = (parts, inItem) => parts.map(({ kind, text }, i) =>
  (i ? (inItem && parts[i - 1].kind === "text" && (kind === "bullets" || kind === "numbers" && /^1[.)]/.test(text)) ? "\n" : "\n\n") : "") + text).join("");

// list returns the items of a list. Two lists in a row have different marks, or they would be one.
const list = (node, marked, depth, other) => {
  const start = Number(node.getAttribute("start") ?? 1), numbers = nameOf(node) === "OL";
  let number = Number.isInteger(start) && start >= 0 && start < 900_000_000 ? start : 1, room = "  ";
  const items = [];
  for (const child of node.children) {
    const name = nameOf(child);
    if (ignored.has(name)) continue;
    if (name === "UL" || name === "OL") { // beside its item, as some programs write it
      items.push(indented(list(child, within(child, marked), depth + 1, false), room, room));
      continue;
    }
    const box = child.querySelector(":scope > input[type=checkbox], :scope > label > input[type=checkbox], :scope > p > input[type=checkbox]");
    const mark = numbers ? number++ + (other ? ") " : ". ") : other ? "* " : "- ";
    const text = (box ? (box.hasAttribute("checked") ? "[x] " : "[ ] ") : "") + joined(flow(child, within(child, marked), depth + 1), true);
    room = " ".repeat(mark.length);
    items.push(indented(text, mark, room).trimEnd());
  }
  return items.join("\n");
};

const table = (node, marked, depth) => {
  const rows = [...node.rows].map((row) => [...row.cells].map((cell) => withinLine(cell, within(cell, marked), depth + 1, true)));
  const columns = rows.reduce((most, r) => Math.max(most, r.length), 0);
  if (!columns) return "";
  if (columns * rows.length > mostCells) return rows.map((r) => r.join(" ")).join("\n\n");
  const line = (cells) => "| " + Array.from({ length: columns }, (_, i) => cells[i] || "").join(" | ") + " |";
  return [line(rows[0]), line(Array(columns).fill("---")), ...rows.slice(1).map(line)].join("\n");
};

// holding has the elements with a block in them, at any depth. It is filled for each text that is pasted.
let holding = new Set();

const pre = (node) => {
  const code = codeText(node).replace(/\n$/, ""), bars = fence(code, 3), language = /language-([\w+#-]{1,30})/.exec(node.innerHTML.slice(0, 500) + node.className);
  return bars + (language ? language[1] : "") + "\n" + code + "\n" + bars;
};

// flow returns the Markdown of blocks: {kind, text} of each.
const flow = (node, marked = {}, depth = 0) => {
  if (depth > deepest) return [{ kind: "text", text: escaped(node.textContent.replace(/\s+/g, " ")) }];
  const out = [];
  let run = [];
  const end = () => {
    const pieces = tidy(run);
    run = [];
    for (let at = 0; at < pieces.length;) {
      // Two line breaks in a row separate paragraphs.
      let to = at;
      while (to < pieces.length && !(pieces[to].line && pieces[to + 1]?.line)) to++;
      const text = written(pieces.slice(at, to));
      if (text) out.push({ kind: "text", text: text.split("\n").map(escapedStart).join("\n") });
      while (to < pieces.length && pieces[to].line) to++;
      at = to;
    }
  };
  for (const child of node.childNodes) {
    const name = nameOf(child);
    if (!blocks.has(name) && !holding.has(child) || ignored.has(name)) { read(child, marked, depth + 1, run); continue; }
    end();
    const own = within(child, marked), level = /^H([1-6])$/.exec(name), last = out.at(-1);
    if (level) {
      const text = withinLine(child, own, depth);
      if (text) out.push({ kind: "heading", text: "#".repeat(level[1]) + " " + text.replace(/(\s)(#+)$/, "$1\\$2") });
    } else if (name === "HR") out.push({ kind: "rule", text: "---" });
    else if (name === "PRE") out.push({ kind: "code", text: pre(child) });
    else if (name === "UL" || name === "OL") {
      const kind = name === "UL" ? "bullets" : "numbers", other = last?.kind === kind && !last.other, text = list(child, own, depth + 1, other);
      if (text) out.push({ kind, other, text });
    } else if (name === "BLOCKQUOTE") {
      const text = joined(flow(child, own, depth + 1));
      if (text) out.push({ kind: "quote", text: text.split("\n").map((l) => (l ? "> " + l : ">")).join("\n") });
    } else if (name === "TABLE") {
      const text = table(child, own, depth + 1);
      if (text) out.push({ kind: "table", text });
    } else for (const part of flow(child, own, depth + 1)) out.push(part);
  }
  end();
  return out;
};

// Elements that need no end. Of the others, the parser of the browser takes time by the square of those that are open.
const endless = /^<(?:[!?]|area|base|br|col|dd|dt|embed|hr|img|input|li|link|meta|option|p|source|t[bdfhr]|wbr)/i, mostOpen = 2000;

// withoutStyles drops style elements and renames style attributes: the page's policy would report each style that it does
// not apply. It takes one pass, whatever the HTML is. It returns null if too many elements are open at once.
const withoutStyles = (html) => {
  const ends = /<\/style\s*>/gi;
  let out = "", at = 0, open = 0;
  for (;;) {
    const begin = html.indexOf("<", at), close = begin < 0 ? -1 : html.indexOf(">", begin);
    if (close < 0) return out + html.slice(at);
    const tag = html.slice(begin, close + 1);
    out += html.slice(at, begin);
    at = close + 1;
    if (tag[1] === "/") open = Math.max(0, open - 1);
    else if (!endless.test(tag) && ++open > mostOpen) return null;
    if (!/^<style[\s/>]/i.test(tag)) {
      out += tag.replace(/\sstyle\s*=/gi, " data-style=");
      continue;
    }
    ends.lastIndex = at;
    if (!ends.test(html)) return out;
    at = ends.lastIndex;
  }
};

// styled reports whether styles alone make a part of the text bold or the like. The colours of a program's code do not.
const styled = (body, html) => !/white-space:\s*pre\s*[;"]|monospace/.test(html)
  && [...body.querySelectorAll("[data-style]")].some((e) => Object.values(within(e, {})).some((v) => v === true));

// asMarkdown returns the Markdown of HTML, or null if the HTML has no formats. The HTML is parsed and never
// shown: its scripts do not run, and its pictures are not loaded.
export const asMarkdown = (html) => {
  if (html.length > longest) return null;
  const safe = withoutStyles(html);
  if (safe === null) return null;
  const { body } = new DOMParser().parseFromString(safe, "text/html");
  if (!body.querySelector(formats) && !styled(body, html)) return null;
  holding = new Set();
  for (const e of body.querySelectorAll([...blocks].join())) for (let p = e.parentElement; p && !holding.has(p); p = p.parentElement) holding.add(p);
  const text = joined(flow(body));
  holding = new Set();
  return text && { text, pictures: !body.textContent.trim() };
};

// prefixAt returns how the lines after a line begin in its quotes and in its item of a list, and where its text begins.
const prefixAt = (text) => {
  const marks = /^(?:\s*(?:>|[-*+](?=\s)|\d{1,9}[.)](?=\s)) ?)*/.exec(text)[0], inner = /^\s*/.exec(text.slice(marks.length))[0];
  return { length: marks.length + inner.length, prefix: (marks + inner).replace(/[^>\s]/g, " "), marks };
};

const beginsBlock = /^(?:#{1,6} |```|\||>|[-*+] |\d{1,9}[.)] |---)/;

// pasteMarkdown inserts Markdown at the selection. Within quotes and lists it stays in them: each of its lines begins as the
// line at the cursor does. In a table it becomes one line.
const pasteMarkdown = (view, made) => {
  const { state } = view, { from, to } = state.selection.main, line = state.doc.lineAt(from), { length, prefix } = prefixAt(line.text);
  const lead = state.sliceDoc(line.from, from), rest = state.sliceDoc(to, state.doc.lineAt(to).to);
  let text = made, at = from;
  if (isIn(state, from, /^Table$/)) {
    text = made.replace(/\s*\\?\n\s*/g, " ").replace(/(?<!\\)\|/g, "\\|");
  } else if (made.includes("\n") || beginsBlock.test(made)) {
    const block = beginsBlock.test(made), inside = from - line.from >= length ? prefix : "";
    const item = /(?:[-*+]|\d{1,9}[.)])\s+$/.exec(lead); // an item without a text takes the items of a list
    if (item && item.index + item[0].length === length && !rest.trim() && /^(?:[-*+]|\d{1,9}[.)]) /.test(made)) {
      at = line.from + item.index;
      text = continued(made, prefix.slice(0, item.index));
    } else {
      const gap = "\n" + inside.trimEnd() + "\n" + inside;
      text = (block && lead.slice(inside.length).trim() && inside.length <= lead.length ? gap : "") + continued(made, inside) + (block && rest.trim() ? gap : "");
    }
  }
  view.dispatch({ changes: { from: at, to, insert: text }, selection: { anchor: at + text.length }, userEvent: "input.paste", scrollIntoView: true });
};
const continued = (text, prefix) => (prefix ? text.split("\n").map((line, i) => (i ? (line ? prefix : prefix.trimEnd()) + line : line)).join("\n") : text);

const ours = (address) => {
  try {
    const { origin, protocol, pathname } = new URL(address);
    return /^https?:$/.test(protocol) && (origin === location.origin || /\/s\/[^/]+/.test(pathname)) && /\/documents\/[0-9a-f-]{36}|\/s\/[^/]+/.test(pathname);
  } catch (_) { return false; }
};

// pasteAddress inserts an address, or makes it a link of the selected text. If it is the address of a
// document, it becomes a link to the document once the server has answered. Undo brings the address back.
const pasteAddress = (view, address, resolve) => {
  const { state } = view, { from, to } = state.selection.main, selected = state.sliceDoc(from, to);
  const names = selected && !selected.includes("\n") && !/^https?:/.test(selected);
  const target = /[()<>]/.test(address) ? `<${address.replace(/[<>]/g, encodeURIComponent)}>` : address;
  const insert = names ? `[${selected}](${target})` : address;
  view.dispatch({ changes: { from, to, insert }, selection: { anchor: from + insert.length }, userEvent: "input.paste", scrollIntoView: true });
  if (!ours(address)) return;
  let at = from; // where it is, whatever is written meanwhile
  const follow = (tr) => { at = tr.changes.mapPos(at, -1); };
  followers.add(follow);
  resolve(address).then((found) => {
    if (!found || view.state.sliceDoc(at, at + insert.length) !== insert) return;
    const link = `[${names ? selected : linkText(found.title)}](document:${found.id})`;
    view.dispatch({ changes: { from: at, to: at + insert.length, insert: link }, userEvent: "input.complete" });
  }).catch(() => {}).finally(() => followers.delete(follow));
};
const followers = new Set();

export const pasting = ({ files, resolve }) => [
  EditorView.updateListener.of((update) => { if (update.docChanged) for (const f of followers) f(update); }),
  EditorView.domEventHandlers({
    paste: (event, view) => {
      const data = event.clipboardData, plain = data.getData("text/plain"), html = data.getData("text/html");
      const code = isIn(view.state, view.state.selection.main.from, /Code/);
      const made = html && !code && !data.types.includes("vscode-editor-data") ? asMarkdown(html) : null;
      // Office programs bring a picture of the text along with it.
      if (files && data.files.length && (!made || made.pictures)) {
        files([...data.files]);
      } else if (!code && /^https?:\/\/\S+$/.test(plain.trim())) {
        pasteAddress(view, plain.trim(), resolve);
      } else if (made) {
        pasteMarkdown(view, made.text);
      } else {
        return false;
      }
      event.preventDefault();
      return true;
    },
    drop: (event, view) => {
      if (!files || !event.dataTransfer.files.length) return false;
      event.preventDefault();
      const at = view.posAtCoords({ x: event.clientX, y: event.clientY }, false);
      view.dispatch({ selection: { anchor: at } });
      view.focus();
      files([...event.dataTransfer.files]);
      return true;
    },
  }),
];
