// The outline of the text, and the preview that scrolls with it.
import { ensureSyntaxTree, syntaxTree, syntaxTreeAvailable } from "@codemirror/language";

const box = document.createElement("textarea"); // it reads entities, and runs nothing
const character = (entity) => { box.innerHTML = entity; return box.value; };

// plain returns the words of Markdown as they are read.
const plain = (text) => text.replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
  .replace(/\\(.)|(&(?:#\d{1,7}|#x[\da-f]{1,6}|[a-z][a-z\d]{1,31});)|<[^>]*>|[*_`~]/gi, (_, kept, entity) => kept || (entity ? character(entity) : "")).trim();

// outlineOf returns the headings of the text: where each begins, its level, and its words. Parsing a long text takes
// several calls, 200 ms each: until `whole` is true, headings are missing at the end.
export const outlineOf = ({ state }) => {
  const tree = ensureSyntaxTree(state, state.doc.length, 200) || syntaxTree(state), out = [];
  tree.iterate({ enter: (n) => {
    const level = /^(?:ATX|Setext)Heading([1-6])$/.exec(n.name);
    if (level) {
      const text = state.sliceDoc(n.from, Math.min(n.to, n.from + 400)).split("\n")[0].replace(/^#+\s*|\s+#+\s*$/g, "");
      out.push({ at: n.from, level: Number(level[1]), text: plain(text) });
    }
    return !/Paragraph|Table|Code/.test(n.name);
  } });
  return { headings: out, whole: syntaxTreeAvailable(state) };
};

const letters = (text) => text.replace(/[^\p{L}\p{N}]/gu, "").toLowerCase();

// pairs finds the headings that text and preview both have, in order: [line, distance from the preview's top]. It is
// whole if it has seen all of the text.
const pairs = (view, pane) => {
  const top = pane.getBoundingClientRect().top - pane.scrollTop, out = [[1, 0]];
  const shown = [...pane.querySelectorAll(":is(h1, h2, h3, h4, h5, h6)")];
  const { headings, whole } = outlineOf(view);
  const places = new Map(); // by the letters of a heading of the preview: its places, and how many are passed
  shown.forEach((e, i) => {
    const words = letters(e.textContent);
    if (!places.has(words)) places.set(words, { at: [], passed: 0 });
    places.get(words).at.push(i);
  });
  let next = 0;
  for (const h of headings) {
    const same = places.get(letters(h.text));
    while (same && same.at[same.passed] < next) same.passed++;
    const found = same?.at[same.passed];
    if (found === undefined) continue;
    next = found + 1;
    out.push([view.state.doc.lineAt(h.at).number, shown[found].getBoundingClientRect().top - top]);
  }
  out.push([view.state.doc.lines + 1, pane.scrollHeight]);
  return { points: out, whole };
};

// between finds a value on the line through the two points around it. `from` and `to` are the indices of a pair.
const between = (points, value, from, to) => {
  let i = 1;
  while (i < points.length - 1 && points[i][from] <= value) i++;
  const [a, b] = [points[i - 1], points[i]], span = b[from] - a[from];
  return span > 0 ? a[to] + (value - a[from]) / span * (b[to] - a[to]) : a[to];
};

// scrollTogether lets the text and the preview scroll together. The one that the person uses leads. The
// returned function must be called when the preview has changed.
export const scrollTogether = (view, pane) => {
  const text = view.scrollDOM;
  let leads = text, known = null, asked = false;
  const lead = (side) => () => { leads = side; };
  for (const side of [text, pane]) for (const type of ["pointerenter", "pointerdown", "wheel", "touchstart", "focusin", "keydown"]) {
    side.addEventListener(type, lead(side), { passive: true });
  }
  const lineOf = (top) => {
    const block = view.lineBlockAtHeight(Math.max(0, top)), line = view.state.doc.lineAt(block.from).number;
    return line + Math.min(1, Math.max(0, (top - block.top) / (block.height || 1)));
  };
  const heightOf = (line) => {
    const n = Math.max(1, Math.min(view.state.doc.lines, Math.floor(line))), block = view.lineBlockAt(view.state.doc.line(n).from);
    return block.top + (line - n) * block.height;
  };
  const end = (box) => box.scrollHeight - box.clientHeight;
  // Heights far from what is shown are estimates. Once the editor has measured what it scrolled to, the
  // place is corrected.
  const scrollText = (line, tries) => {
    const to = heightOf(line);
    if (Math.abs(text.scrollTop - to) < 2) return;
    text.scrollTop = to;
    if (tries) requestAnimationFrame(() => { if (leads === pane && !asked) scrollText(line, tries - 1); });
  };
  const follow = () => {
    asked = false;
    if (!pane.offsetParent || !text.offsetParent || end(pane) <= 0 || end(text) <= 0) return;
    if (!known?.whole) known = pairs(view, pane);
    const { points } = known;
    const goes = leads === text ? pane : text;
    if (leads.scrollTop <= 1) goes.scrollTop = 0;
    else if (leads.scrollTop >= end(leads) - 1) goes.scrollTop = end(goes);
    else if (leads === text) pane.scrollTop = between(points, lineOf(text.scrollTop), 0, 1);
    else scrollText(between(points, pane.scrollTop, 1, 0), 4);
  };
  const soon = (side) => () => {
    if (leads !== side || asked) return;
    asked = true;
    requestAnimationFrame(follow);
  };
  text.addEventListener("scroll", soon(text), { passive: true });
  pane.addEventListener("scroll", soon(pane), { passive: true });
  return () => { known = null; soon(leads)(); };
};
