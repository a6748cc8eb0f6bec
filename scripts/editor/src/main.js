// The editor of the console: CodeMirror in place of the text area of a form. Without this script, the
// text area stays. editor.js uses what sheafEditor returns, and knows nothing of CodeMirror.
import { EditorState, EditorSelection, Transaction } from "@codemirror/state";
import { EditorView, keymap, dropCursor } from "@codemirror/view";
import { history, historyKeymap, defaultKeymap } from "@codemirror/commands";
import { syntaxHighlighting, LanguageSupport } from "@codemirror/language";
import { markdownLanguage, insertNewlineContinueMarkup, deleteMarkupBackward } from "@codemirror/lang-markdown";
import { search, searchPanelOpen, openSearchPanel, closeSearchPanel, findNext, findPrevious, highlightSelectionMatches } from "@codemirror/search";
import { autocompletion, completionKeymap, completionStatus } from "@codemirror/autocomplete";
import { adoptStyles, theme, classes } from "./look.js";
import { acts, editKeys } from "./acts.js";
import { tableKeys, align, alignOnBlur, settled } from "./tables.js";
import { pasting } from "./paste.js";
import { documentLinks } from "./links.js";
import { outlineOf, scrollTogether } from "./scroll.js";

adoptStyles();

// The words of CodeMirror's panel that finds and replaces, as those of the console.
const phrases = { next: "Next", previous: "Previous", all: "Select all", "match case": "Match case", regexp: "Regular expression",
  "by word": "Whole words", replace: "Replace", "replace all": "Replace all" };

const searchKeys = [
  { key: "Mod-f", run: openSearchPanel, scope: "editor search-panel" },
  { key: "F3", run: findNext, shift: findPrevious, scope: "editor search-panel", preventDefault: true },
  { key: "Mod-g", run: findNext, shift: findPrevious, scope: "editor search-panel", preventDefault: true },
  { key: "Escape", run: closeSearchPanel, scope: "editor search-panel" },
];

// After Escape, Tab leaves the editor. The next key but Tab ends that, and so does a minute. An Escape that closes
// a list or the search only does that. The second key keeps CodeMirror from its own limit, two seconds.
const leaveKeys = [
  { key: "Escape", run: (view) => {
    if (completionStatus(view.state) !== "active" && !searchPanelOpen(view.state)) view.setTabFocusMode(60000);
    return false;
  } },
  { key: "Escape", run: () => true },
];

// sheafEditor puts an editor in the place of a text area, which keeps its name and its value for the form.
//
//	area       the text area
//	changed    is called after each change; it must be quick
//	files      takes the files that were pasted or dropped; null: none are taken
//	find       returns the documents for the words of a link that is being typed
//	resolve    returns the document at an address, or null
window.sheafEditor = (area, { changed, files, find, resolve }) => {
  const label = area.labels[0];
  const attributes = { "aria-labelledby": label.id, tabindex: "0", spellcheck: "true", autocorrect: "on", autocapitalize: "sentences" };
  for (const name of ["aria-invalid", "aria-describedby"]) if (area.hasAttribute(name)) attributes[name] = area.getAttribute(name);
  const view = new EditorView({
    state: EditorState.create({
      doc: area.value,
      extensions: [
        EditorState.lineSeparator.of("\n"), EditorState.tabSize.of(4), EditorView.lineWrapping, EditorView.perLineTextDirection.of(true),
        EditorView.contentAttributes.of(attributes), EditorState.phrases.of(phrases),
        history(), dropCursor(), search({ top: true }), highlightSelectionMatches({ minSelectionLength: 3 }),
        new LanguageSupport(markdownLanguage), syntaxHighlighting(classes), theme,
        autocompletion({ defaultKeymap: false, override: [documentLinks(find)], icons: false, aboveCursor: false, tooltipClass: () => "links" }),
        pasting({ files, resolve }), alignOnBlur,
        keymap.of([leaveKeys[0], ...completionKeymap, ...tableKeys, ...editKeys, { key: "Enter", run: insertNewlineContinueMarkup },
          { key: "Backspace", run: deleteMarkupBackward }, ...searchKeys, ...historyKeymap, ...defaultKeymap, leaveKeys[1]]),
        EditorView.updateListener.of((update) => { if (update.docChanged) changed(); }),
      ],
    }),
  });
  area.before(view.dom);
  if (document.activeElement === area) view.focus();
  area.hidden = true;
  label.addEventListener("click", () => view.focus());

  // set replaces the text, as a restored draft does. Its tables are not aligned before the person changes them.
  const set = (text) => {
    if (text === view.state.doc.toString()) return;
    const at = Math.min(view.state.selection.main.head, text.length);
    view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text }, selection: { anchor: at }, effects: settled.of(null) });
  };
  // A program that writes into the text area, such as an extension of the browser, writes into the editor.
  area.addEventListener("input", () => set(area.value));

  return {
    name: area.name,
    get value() { return view.state.doc.toString(); },
    set value(text) { set(text); },
    get dom() { return view.dom; },
    get scroller() { return view.scrollDOM; },
    focus: () => view.focus(),
    act: (name) => { view.focus(); acts[name](view); },
    // align aligns the tables that were changed, as when the focus leaves: what is saved stays as it is.
    align: () => align(view),
    // insert writes a text at the selection, and swap replaces it wherever it is then, or does nothing.
    insert: (text) => view.dispatch(view.state.replaceSelection(text), { scrollIntoView: true }),
    swap: (old, fresh) => {
      const at = view.state.doc.toString().indexOf(old);
      if (at >= 0) view.dispatch({ changes: { from: at, to: at + old.length, insert: fresh }, annotations: Transaction.addToHistory.of(false) });
    },
    outline: () => outlineOf(view),
    jump: (at) => {
      view.dispatch({ selection: EditorSelection.cursor(Math.min(at, view.state.doc.length)), effects: EditorView.scrollIntoView(at, { y: "start", yMargin: 8 }) });
      view.focus();
    },
    scrollWith: (pane) => scrollTogether(view, pane),
  };
};
