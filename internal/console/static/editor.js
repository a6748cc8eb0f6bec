// The editor: a preview by the server, Ctrl-S, and unsaved text that survives
// a reload. Without this script the form is sent like any other.
(() => {
  "use strict";
  const form = document.getElementById("editor");
  const text = form.elements.content, revision = form.elements.revision;
  const say = (words) => { form.querySelector("[data-state]").textContent = words; };
  const typed = ["title", "description", "content", "project"].map((name) => form.elements[name]);

  // The values that the server sent, not those that were typed before this script ran or that the
  // browser restored. A refused form is unsaved from the start.
  const sentValue = (field) => field.options
    ? ([...field.options].find((o) => o.defaultSelected) || field.options[0] || { value: "" }).value
    : field.defaultValue.replace(/\r\n?/g, "\n");
  const stored = form.hasAttribute("data-typed") ? null : JSON.stringify(typed.map(sentValue));
  const now = () => JSON.stringify(typed.map((field) => field.value));
  let saved = stored;
  let newest = revision ? Number(revision.value) : 0; // the newest revision that this page showed or announced

  // Unsaved text is stored in this browser, by person, document and base
  // revision.
  const prefix = "draft " + form.dataset.draft + " ";
  const key = () => prefix + (revision ? revision.value : 0);
  const drafts = () => { try { return Object.keys(localStorage).filter((name) => name.startsWith(prefix)); } catch (_) { return []; } };
  const read = (name) => { try { return JSON.parse(localStorage.getItem(name)); } catch (_) { return null; } };
  const forget = () => { for (const name of drafts()) localStorage.removeItem(name); };
  const was = [...form.querySelectorAll("[name^=was-]")];
  const keep = () => {
    try {
      if (now() === saved) localStorage.removeItem(key());
      else localStorage.setItem(key(), JSON.stringify({ at: Date.now(), values: typed.map((field) => field.value), was: was.map((field) => field.value),
        project: typed[3].selectedOptions.length ? typed[3].selectedOptions[0].textContent : "" }));
    } catch (_) {
      say("Not saved, and too long to survive a reload.");
    }
  };

  // The newest draft is restored with its base revision: if another person has
  // saved since, saving it shows both texts.
  const kept = form.querySelector("[data-kept]");
  const restore = () => {
    const found = drafts().map((name) => ({ name, ...read(name) })).filter((d) => Array.isArray(d.values)).sort((a, b) => b.at - a.at)[0];
    if (!found || JSON.stringify(found.values) === saved) return;
    const began = found.name.slice(prefix.length), older = revision && began !== revision.value;
    typed.forEach((field, i) => { field.value = found.values[i]; });
    if (typed[3].selectedIndex < 0) typed[3].append(new Option(found.project, found.values[3], false, true)); // beyond the list
    if (Array.isArray(found.was) && found.was.length === was.length) was.forEach((field, i) => { field.value = found.was[i]; });
    if (revision) revision.value = began;
    kept.querySelector("span").textContent = "Your unsaved text is back." +
      (older ? " The document was saved by somebody since: when you save, you see both." : "");
    kept.hidden = false;
  };
  form.querySelector("[data-discard]").addEventListener("click", () => { forget(); saved = now(); location.reload(); });
  const drop = document.querySelector("[data-drop-draft]");
  if (drop) drop.addEventListener("click", () => { forget(); saved = now(); });

  // The preview: one request at a time, and the next when the person pauses.
  const pane = form.querySelector("[data-preview-pane]"), prose = pane.querySelector(".prose");
  let pause, asking = false, shown = null;
  const preview = async () => {
    if (asking || shown === text.value) return;
    asking = true;
    const asked = text.value;
    let why = "the server does not answer";
    try {
      const answer = await fetch(form.dataset.preview, { method: "POST", headers: { "HX-Request": "true" }, body: new URLSearchParams({ content: asked }) });
      if (answer.ok) { prose.innerHTML = await answer.text(); shown = asked; why = ""; }
      else if (answer.status === 401) why = "you are signed out";
      else if (answer.status < 500) why = "the server refuses it";
    } catch (_) {}
    pane.querySelector("[data-stale]").textContent = why && "not of the present text: " + why;
    asking = false;
    if (shown === asked && text.value !== asked) soon();
  };
  const soon = () => { clearTimeout(pause); pause = setTimeout(preview, 300); };
  pane.hidden = false;

  // Pictures and files that are pasted, dropped or chosen are uploaded, and their Markdown is inserted.
  // A placeholder is replaced after the upload, wherever it is in the text then.
  const chooser = form.querySelector("[data-insert]");
  const replace = (old, fresh) => {
    const at = text.value.indexOf(old);
    if (at < 0) return;
    const caret = text.selectionStart + (text.selectionStart > at ? fresh.length - old.length : 0);
    text.setRangeText(fresh, at, at + old.length);
    text.setSelectionRange(caret, caret);
    text.dispatchEvent(new Event("input", { bubbles: true }));
  };
  let uploads = 0;
  const insert = async (file) => {
    const name = file.name || "picture.png", stand = `![Uploading ${name} ${++uploads}…]()`;
    text.setRangeText(stand, text.selectionStart, text.selectionEnd, "end");
    text.dispatchEvent(new Event("input", { bubbles: true }));
    try {
      const card = await window.sheafUpload(form.dataset.upload, file, (part) => say(`Uploading ${name}: ${Math.round(100 * part)} %`));
      replace(stand, card.dataset.markdown);
    } catch (why) {
      replace(stand, "");
      say(`${name} was not uploaded. ${why.message}`);
    }
  };
  if (form.dataset.upload) {
    const brought = (data) => [...(data ? data.files : [])];
    text.addEventListener("paste", (e) => {
      const files = brought(e.clipboardData);
      if (!files.length) return;
      e.preventDefault();
      files.forEach(insert);
    });
    text.addEventListener("dragover", (e) => { if ([...e.dataTransfer.types].includes("Files")) e.preventDefault(); });
    text.addEventListener("drop", (e) => {
      const files = brought(e.dataTransfer);
      if (!files.length) return;
      e.preventDefault();
      files.forEach(insert);
    });
    chooser.closest("label").hidden = false;
    chooser.addEventListener("change", () => { brought(chooser).forEach(insert); chooser.value = ""; text.focus(); });
  }

  const state = () => say(now() === saved ? "Ctrl-S saves." : "Not saved. Ctrl-S saves.");
  form.addEventListener("input", () => { keep(); state(); soon(); });
  form.addEventListener("change", () => { keep(); state(); });
  addEventListener("pagehide", keep);

  // The page after a save deletes the stored text.
  let leaving = false;
  form.addEventListener("submit", () => {
    leaving = true;
    keep();
    try { sessionStorage.setItem("saving", JSON.stringify(drafts())); } catch (_) {}
  });
  addEventListener("pageshow", () => { leaving = false; });
  document.addEventListener("sheaf:signs-out", () => { leaving = true; saved = now(); }); // nothing is kept
  addEventListener("beforeunload", (e) => {
    if (leaving || now() === saved) return;
    try { if (localStorage.getItem(key())) return; } catch (_) {}
    e.preventDefault(); // it could not be kept
  });

  // Ctrl-S saves, and the editor stays open. If the save is refused, the form is
  // sent normally, and its answer is shown as a page.
  let saving = false;
  const save = async () => {
    if (saving || !form.reportValidity()) return;
    if (!revision || form.querySelector("[name^=keep-]")) { form.requestSubmit(); return; }
    saving = true;
    say("Saving…");
    const sent = now();
    let answer = null;
    try {
      answer = await fetch(form.action, { method: "POST", headers: { "HX-Request": "true" }, body: new URLSearchParams(new FormData(form)) });
    } catch (_) {}
    saving = false;
    const fresh = answer && answer.ok && answer.headers.get("Sheaf-Revision");
    if (fresh) {
      forget();
      saved = sent;
      revision.value = fresh;
      newest = Number(fresh);
      for (const field of was) field.value = form.elements[field.name.slice(4)].value;
      kept.hidden = true;
      keep();
      say(now() === sent ? "Saved." : "Not saved. Ctrl-S saves.");
    } else if (answer && answer.status >= 400 && answer.status < 500) form.requestSubmit();
    else say("Not saved: the server does not answer. Your text is kept here; try again in a moment.");
  };
  document.addEventListener("keydown", (e) => {
    if (e.key.toLowerCase() !== "s" || !(e.ctrlKey || e.metaKey) || e.altKey || e.shiftKey) return;
    e.preventDefault();
    save();
  });

  // If another person saves, a message says so at once.
  document.addEventListener("sheaf:fresh", (e) => {
    if (e.target.id !== "editor-now" || saving || Number(e.target.dataset.now) <= newest) return;
    newest = Number(e.target.dataset.now);
    if (kept.hidden) kept.querySelector("[data-discard]").hidden = true; // there is no restored draft to discard
    kept.querySelector("span").textContent = "Another person has just saved this document. Continue writing: when you save, you see both texts.";
    kept.hidden = false;
  });

  try { sessionStorage.removeItem("saving"); } catch (_) {} // who is here again did not save
  if (stored !== null && now() === stored) restore();
  else keep();
  state();
  preview();
})();
