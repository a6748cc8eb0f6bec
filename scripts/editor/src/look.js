// How the editor looks. The page's Content-Security-Policy allows no style elements, so the rules of
// CodeMirror go into a style sheet that the document adopts.
import { EditorView } from "@codemirror/view";
import { StyleModule } from "style-mod";
import { tagHighlighter, tags } from "@lezer/highlight";

export const adoptStyles = () => {
  const sheet = new CSSStyleSheet(), mounted = [];
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  StyleModule.mount = (_, modules) => {
    const fresh = [modules].flat().filter((m) => !mounted.includes(m));
    if (!fresh.length) return;
    mounted.push(...fresh);
    sheet.replaceSync(mounted.map((m) => m.getRules()).join("\n"));
  };
};

// classes are the names of the parts of Markdown, which editor.css colours.
export const classes = tagHighlighter([
  { tag: tags.heading, class: "md-heading" },
  { tag: tags.strong, class: "md-strong" },
  { tag: tags.emphasis, class: "md-emphasis" },
  { tag: tags.strikethrough, class: "md-strike" },
  { tag: tags.monospace, class: "md-code" },
  { tag: tags.quote, class: "md-quote" },
  { tag: [tags.link, tags.labelName, tags.string], class: "md-link" },
  { tag: tags.url, class: "md-address" },
  { tag: [tags.processingInstruction, tags.contentSeparator, tags.meta], class: "md-mark" },
  { tag: [tags.comment, tags.atom, tags.tagName, tags.angleBracket], class: "md-html" },
]);

export const theme = EditorView.theme({
  "&": { backgroundColor: "var(--sheet)", color: "var(--ink)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", fontSize: ".875rem", lineHeight: "1.6" },
  ".cm-content": { caretColor: "var(--ink)", padding: ".5rem 0" },
  ".cm-line": { padding: "0 .75rem", unicodeBidi: "plaintext" },
  ".cm-dropCursor": { borderLeftColor: "var(--accent)" },
  ".cm-announced": { position: "absolute" },
  ".cm-panels": { backgroundColor: "var(--sunken)", color: "var(--ink)", zIndex: 1 },
  ".cm-panels.cm-panels-top": { borderBottom: "1px solid var(--line)" },
  ".cm-searchMatch": { backgroundColor: "var(--warn-soft)", outline: "1px solid var(--warn)" },
  ".cm-searchMatch.cm-searchMatch-selected": { backgroundColor: "var(--accent-soft)", outline: "2px solid var(--accent)" },
  ".cm-selectionMatch": { backgroundColor: "var(--accent-soft)" },
  ".cm-tooltip": { backgroundColor: "var(--sheet)", border: "1px solid var(--line)", borderRadius: ".625rem", boxShadow: "var(--lift)", color: "var(--ink)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "inherit", maxHeight: "18rem", maxWidth: "min(34rem, 92vw)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: ".375rem .75rem", lineHeight: "1.3" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent-soft)", color: "var(--ink)" },
});
