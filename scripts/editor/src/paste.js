// What is pasted and dropped: files are handed on, formatted text becomes Markdown, an address becomes a
// link where text is selected, and the address of a document becomes a link to the document.
import { EditorView } from "@codemirror/view";
import { syntaxTree } from "@codemirror/language";
import { linkText } from "./links.js";

// The bounds of what is converted: beyond them, the plain text is pasted.
const longest = 1 << 20, deepest = 60, mostCells = 100_000;

const inCode = (state, pos) => {
  for (let n = syntaxTree(state).resolveInner(pos, -1); n; n = n.parent) if (/Code/.test(n.name)) return true;
  return false;
};

const formats = "a[href], b, strong, i, em, del, s, strike, code, pre, kbd, sub, sup, mark, h1, h2, h3, h4, h5, h6, ul, ol, blockquote, table, hr, img";

// escaped returns a text whose characters mean nothing in Markdown.
const escaped = (text) => text.replace(/[\\`*_[\]<~|]/g, "\\$&").replace(/&(?=#?\w+;)/g, "\\&");
const escapedStart = (line) => line.replace(/^(\s*)(#{1,6}(?=\s)|[-+](?=\s)|>)/, "$1\\$2").replace(/^(\s*\d{1,9})([.)])(?=\s)/, "$1\\$2");

const webAddress = (address) => /^(?:https?:\/\/|mailto:)[^\s<>]+$/i.test(address || "") ? address.replace(/[()]/g, (c) => (c === "(" ? "%28" : "%29")) : "";

// fence returns a run of backticks that is longer than every run in the text.
const fence = (text, least) => {
  for (const m of text.matchAll(/`+/g)) least = Math.max(least, m[0].length + 1);
  return "`".repeat(least);
};

// Elements that begin a line of their own. Some are only containers.
const blocks = new Set(["P", "DIV", "H1", "H2", "H3", "H4", "H5", "H6", "UL", "OL", "LI", "BLOCKQUOTE", "PRE", "TABLE", "HR", "SECTION", "ARTICLE", "MAIN", "HEADER",
  "FOOTER", "NAV", "ASIDE", "FIGURE", "FIGCAPTION", "DL", "DT", "DD", "ADDRESS", "FORM", "BODY", "DETAILS", "SUMMARY"]);
const ignored = new Set(["SCRIPT", "STYLE", "TEMPLATE", "NOSCRIPT", "TITLE", "META", "LINK", "HEAD", "IFRAME", "SVG", "BUTTON", "INPUT", "SELECT", "TEXTAREA"]);
const marks = { STRONG: "**", B: "**", EM: "_", I: "_", DEL: "~~", S: "~~", STRIKE: "~~" };
const kept = new Set(["KBD", "SUB", "SUP", "MARK"]);

// surround puts a mark around a text, but not around the spaces at its ends.
const surround = (text, open, close = open) => {
  const inner = text.trim();
  return inner ? text.slice(0, text.length - text.trimStart().length) + open + inner + close + text.slice(text.trimEnd().length) : text;
};

// inline returns the Markdown of elements within a line.
const inline = (node, depth) => {
  if (node.nodeType === Node.TEXT_NODE) return escaped(node.data.replace(/[\s\u00a0]+/g, " "));
  if (node.nodeType !== Node.ELEMENT_NODE || ignored.has(node.nodeName.toUpperCase())) return "";
  if (depth > deepest) return escaped(node.textContent);
  const name = node.nodeName.toUpperCase(), inner = () => [...node.childNodes].map((n) => inline(n, depth + 1)).join("");
  if (name === "BR") return "\\\n";
  if (name === "CODE" || name === "TT" || name === "SAMP") {
    const code = node.textContent.replace(/\s+/g, " "), run = fence(code, 1), pad = /^`|`$/.test(code) ? " " : "";
    return code.trim() ? run + pad + code + pad + run : code;
  }
  if (name === "IMG") {
    const src = /^https?:/i.test(node.getAttribute("src") || "") ? webAddress(node.getAttribute("src")) : "";
    return src ? `![${escaped(node.getAttribute("alt") || "")}](${src})` : "";
  }
  if (name === "A") {
    const href = webAddress(node.getAttribute("href")), text = inner();
    if (!href || !text.trim() || text.includes("](")) return text;
    return href === node.textContent.trim() ? `<${href}>` : surround(text, "[", `](${href})`);
  }
  // Some programs put a whole document into a <b> of usual weight.
  const light = /font-weight:\s*(?:normal|400)/.test(node.dataset.style) && (name === "B" || name === "STRONG");
  if (marks[name] && !light) return surround(inner(), marks[name]);
  if (kept.has(name)) return surround(inner(), `<${name.toLowerCase()}>`, `</${name.toLowerCase()}>`);
  return inner();
};

// tidy leaves single spaces, and none and no line break at the ends. It takes one pass, however long a run of spaces is.
const tidy = (text) => {
  text = text.replace(/[ \t]+/g, " ").replace(/ ?\\\n ?/g, "\\\n");
  let from = 0, to = text.length;
  while (from < to && (/\s/.test(text[from]) || text.startsWith("\\\n", from))) from += text[from] === "\\" ? 2 : 1;
  while (to > from && /\s/.test(text[to - 1])) to -= text[to - 1] === "\n" && text[to - 2] === "\\" ? 2 : 1;
  return text.slice(from, Math.max(from, to));
};
const indented = (text, first, rest) => first + text.replace(/\n(?=[^\n])/g, "\n" + rest);

const list = (node, depth) => {
  let number = node.nodeName === "OL" ? Number(node.getAttribute("start")) || 1 : 0;
  const items = [...node.children].map((child) => {
    if (child.nodeName === "UL" || child.nodeName === "OL") return indented(list(child, depth + 1), "  ", "  "); // beside its item, as some programs write it
    const box = child.querySelector(":scope > input[type=checkbox], :scope > label > input[type=checkbox], :scope > p > input[type=checkbox]");
    const mark = number ? number++ + ". " : "- ", text = (box ? (box.hasAttribute("checked") ? "[x] " : "[ ] ") : "") + flow(child, depth + 1, "\n");
    return indented(text, mark, " ".repeat(mark.length));
  });
  return items.join("\n");
};

const table = (node, depth) => {
  const rows = [...node.rows].map((row) => [...row.cells].map((cell) => tidy([...cell.childNodes].map((n) => inline(n, depth + 1)).join(" ")).replace(/\\?\n/g, " ")));
  const columns = rows.reduce((most, r) => Math.max(most, r.length), 0);
  if (!columns) return "";
  if (columns * rows.length > mostCells) return rows.map((r) => r.join(" ")).join("\n\n");
  const line = (cells) => "| " + Array.from({ length: columns }, (_, i) => cells[i] || "").join(" | ") + " |";
  return [line(rows[0]), line(Array(columns).fill("---")), ...rows.slice(1).map(line)].join("\n");
};

// flow returns the Markdown of blocks, with `gap` between two of them.
const flow = (node, depth = 0, gap = "\n\n") => {
  if (depth > deepest) return escaped(node.textContent);
  const out = [];
  let run = "";
  const end = () => {
    const text = tidy(run);
    if (text) out.push(text.split("\n").map(escapedStart).join("\n"));
    run = "";
  };
  for (const child of node.childNodes) {
    const name = child.nodeName.toUpperCase();
    const holdsBlocks = child.nodeType === Node.ELEMENT_NODE && !blocks.has(name) && !ignored.has(name) && [...child.children].some((c) => blocks.has(c.nodeName));
    if (!blocks.has(name) && !holdsBlocks) { run += inline(child, depth + 1); continue; }
    end();
    const level = /^H([1-6])$/.exec(name);
    let text;
    if (level) text = surround(tidy([...child.childNodes].map((n) => inline(n, depth + 1)).join("")).replace(/\\?\n/g, " "), "#".repeat(level[1]) + " ", "");
    else if (name === "HR") text = "---";
    else if (name === "PRE") {
      const code = child.textContent.replace(/\n$/, ""), bars = fence(code, 3), language = /language-([\w+#-]{1,30})/.exec(child.innerHTML.slice(0, 500) + child.className);
      text = bars + (language ? language[1] : "") + "\n" + code + "\n" + bars;
    } else if (name === "UL" || name === "OL") text = list(child, depth + 1);
    else if (name === "BLOCKQUOTE") text = flow(child, depth + 1).split("\n").map((l) => (l ? "> " + l : ">")).join("\n");
    else if (name === "TABLE") text = table(child, depth + 1);
    else text = flow(child, depth + 1, gap);
    if (text) out.push(text);
  }
  end();
  return out.join(gap);
};

// withoutStyles drops style elements and renames style attributes: the page's policy would report each style that it does
// not apply. It takes one pass, whatever the HTML is.
const withoutStyles = (html) => {
  const ends = /<\/style\s*>/gi;
  let out = "", at = 0;
  for (;;) {
    const open = html.indexOf("<", at), close = open < 0 ? -1 : html.indexOf(">", open);
    if (close < 0) return out + html.slice(at);
    const tag = html.slice(open, close + 1);
    out += html.slice(at, open);
    at = close + 1;
    if (!/^<style[\s/>]/i.test(tag)) {
      out += tag.replace(/\sstyle\s*=/gi, " data-style=");
      continue;
    }
    ends.lastIndex = at;
    if (!ends.test(html)) return out;
    at = ends.lastIndex;
  }
};

// asMarkdown returns the Markdown of HTML, or null if the HTML has no formats. The HTML is parsed and never
// shown: its scripts do not run, and its pictures are not loaded.
export const asMarkdown = (html) => {
  if (html.length > longest) return null;
  const { body } = new DOMParser().parseFromString(withoutStyles(html), "text/html");
  return body.querySelector(formats) ? flow(body) : null;
};

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
      const code = inCode(view.state, view.state.selection.main.from);
      const made = html && !code && !data.types.includes("vscode-editor-data") ? asMarkdown(html) : null;
      // Office programs bring a picture of the text along with it.
      if (files && data.files.length && !(made && made.replace(/!\[[^\]]*\]\([^)]*\)/g, "").trim())) {
        files([...data.files]);
      } else if (!code && /^https?:\/\/\S+$/.test(plain.trim())) {
        pasteAddress(view, plain.trim(), resolve);
      } else if (made) {
        view.dispatch(view.state.replaceSelection(made), { userEvent: "input.paste", scrollIntoView: true });
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
