// The form of a document: a preview by the server, Ctrl-S, and unsaved text that survives
// a reload. The text is written in the editor that codemirror.js puts in the place of the text area.
// Without that script it is written in the text area, and without this one the form is sent like any other.
(() => {
  "use strict";
  const form = document.getElementById("editor");
  const area = form.elements.content, revision = form.elements.revision;
  const base = revision || form.elements.base_version, suggests = !revision && !!base; // a suggestion is sent once
  const say = (words) => { form.querySelector("[data-state]").textContent = words; };

  // The documents for a link, which the server finds.
  const documents = async (parameters, signal) => {
    const address = new URL(form.dataset.links, location.href);
    for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value);
    const answer = await fetch(address, { headers: { "HX-Request": "true" }, signal });
    if (!answer.ok) return [];
    const list = new DOMParser().parseFromString(await answer.text(), "text/html");
    return [...list.querySelectorAll("li")].map((e) => ({ id: e.dataset.id, title: e.textContent, path: e.dataset.path }));
  };
  const text = window.sheafEditor ? window.sheafEditor(area, {
    changed: () => { if (!settling) settling = setTimeout(settle, 300); soon(); },
    files: form.dataset.upload ? (files) => files.forEach((file) => insert(file)) : null,
    find: (q, signal) => documents({ q }, signal),
    resolve: async (address) => (await documents({ address }))[0] || null,
  }) : null;
  const typed = ["title", "description", "content", "project", "about", "message"].map((name) => (name === "content" && text) || form.elements[name]).filter(Boolean);
  const project = form.elements.project;

  // The files that are uploaded: by the placeholder in the text, the promise whether it worked.
  const uploads = new Map();
  let progress = "", waiting = false; // the progress of the last one, and whether saving waits
  const withoutUploads = (value) => [...uploads.keys()].reduce((out, stand) => out.replace(stand, ""), value);

  // What a change of a long text needs is done a moment later, once for all keys of that moment.
  let settling = 0;
  const settle = () => {
    clearTimeout(settling);
    settling = 0;
    if (text) area.value = text.value;
    keep();
    state();
    count();
  };

  // The values that the server sent, not those that were typed before this script ran or that the
  // browser restored. A refused form is unsaved from the start.
  const sentValue = (field) => field.options
    ? ([...field.options].find((o) => o.defaultSelected) || field.options[0] || { value: "" }).value
    : (field === text ? area : field).defaultValue.replace(/\r\n?/g, "\n");
  const stored = form.hasAttribute("data-typed") ? null : JSON.stringify(typed.map(sentValue));
  const content = () => (text || area).value;
  const now = () => JSON.stringify(typed.map((field) => field.value));
  let saved = stored;
  let newest = revision ? Number(revision.value) : 0; // the newest revision that this page showed or announced

  // Unsaved text is stored in this browser as a draft, by person, document, base revision and page: two tabs of one
  // document have a draft each.
  const prefix = "draft " + form.dataset.draft + " ", own = Array.from(crypto.getRandomValues(new Uint8Array(8)), (n) => n.toString(16)).join("");
  const key = () => prefix + (base ? base.value : 0) + " " + own;
  const drafts = () => { try { return Object.keys(localStorage).filter((name) => name.startsWith(prefix)); } catch (_) { return []; } };
  const mine = () => drafts().filter((name) => name.endsWith(" " + own));
  const read = (name) => { try { return JSON.parse(localStorage.getItem(name)); } catch (_) { return null; } };
  const forget = () => { for (const name of mine()) localStorage.removeItem(name); };
  const was = [...form.querySelectorAll("[name^=was-]")];
  let unkept = false; // the unsaved text could not be stored
  const keep = () => {
    unkept = false;
    if (now() === saved) { forget(); return; }
    try {
      localStorage.setItem(key(), JSON.stringify({ at: Date.now(), values: typed.map((field) => (field === text ? withoutUploads(field.value) : field.value)),
        was: was.map((field) => field.value), project: project && project.selectedOptions.length ? project.selectedOptions[0].textContent : "" }));
    } catch (_) { unkept = true; }
  };

  // The newest draft is restored with its base revision: if another person has saved since, saving it shows both texts.
  // If the browser has restored a text, the draft with the same text becomes the draft of this page. If that draft
  // belongs to another tab that is still open, that tab is notified, and stores its text again.
  const kept = form.querySelector("[data-kept]"), taken = "taken";
  const restore = () => {
    const all = drafts().map((name) => ({ name, ...read(name) })).filter((d) => Array.isArray(d.values)).sort((a, b) => b.at - a.at);
    for (const d of all) if (JSON.stringify(d.values) === saved) localStorage.removeItem(d.name);
    let discarded = null;
    try { discarded = sessionStorage.getItem("discarded"); sessionStorage.removeItem("discarded"); } catch (_) {}
    const here = now(), found = all.find((d) => {
      const values = JSON.stringify(d.values);
      return here === saved ? values !== saved && values !== discarded : values === here;
    });
    if (!found) { keep(); return; }
    const [began] = found.name.slice(prefix.length).split(" "), older = base && began !== base.value;
    typed.forEach((field, i) => { field.value = found.values[i]; });
    if (project && project.selectedIndex < 0) project.append(new Option(found.project, found.values[3], false, true)); // beyond the list
    if (Array.isArray(found.was) && found.was.length === was.length) was.forEach((field, i) => { field.value = found.was[i]; });
    if (base) base.value = began;
    try {
      const draft = localStorage.getItem(found.name);
      localStorage.setItem(found.name, taken);
      localStorage.removeItem(found.name);
      localStorage.setItem(key(), draft);
    } catch (_) { unkept = true; }
    kept.querySelector("span").textContent = "Restored your unsaved changes." +
      (!older ? "" : suggests ? " The document has changed since. Your proposal is about the version that you began with."
        : " Someone has saved the document since. When you save, you see both texts.");
    kept.hidden = false;
  };
  let lost = false;
  addEventListener("storage", (e) => {
    if (e.key !== key()) return;
    lost = e.newValue === taken || lost && e.newValue === null;
    if (lost) keep();
  });
  form.querySelector("[data-discard]").addEventListener("click", () => {
    forget();
    saved = now();
    try { sessionStorage.setItem("discarded", saved); } catch (_) {} // another tab may have stored it again
    location.reload();
  });
  const drop = document.querySelector("[data-drop-draft]");
  if (drop) drop.addEventListener("click", () => { forget(); saved = now(); });

  // The preview: one request at a time, and the next when the person pauses.
  const pane = form.querySelector("[data-preview-pane]"), prose = pane.querySelector(".prose");
  let pause, asking = false, shown = null, follow = () => {};
  const preview = async () => {
    const asked = content();
    if (asking || shown === asked) return;
    asking = true;
    let why = "the server is not responding";
    try {
      const answer = await fetch(form.dataset.preview, { method: "POST", headers: { "HX-Request": "true" }, body: new URLSearchParams({ content: asked }) });
      if (answer.ok) { prose.innerHTML = await answer.text(); shown = asked; why = ""; follow(); }
      else if (answer.status === 401) why = "you are signed out";
      else if (answer.status < 500) why = "the server refuses it";
    } catch (_) {}
    pane.querySelector("[data-stale]").textContent = why && "not of the present text: " + why;
    asking = false;
    if (shown === asked && content() !== asked) soon();
  };
  const soon = () => { clearTimeout(pause); pause = setTimeout(preview, 300); };
  pane.hidden = false;

  // The number of words of the text.
  const words = form.querySelector("[data-words]");
  const count = () => {
    const n = (content().match(/[\p{L}\p{N}]+(?:['’-][\p{L}\p{N}]+)*/gu) || []).length;
    words.textContent = n.toLocaleString("en") + (n === 1 ? " word" : " words");
  };

  // Pictures and files that are pasted, dropped or chosen are uploaded, and their Markdown is inserted.
  // A placeholder is replaced after the upload, wherever it is in the text then.
  const chooser = form.querySelector("[data-insert]");
  let number = 0;
  const insert = (file) => {
    const name = file.name || "picture.png", stand = `![Uploading ${name.replace(/[\[\]\\]/g, "")} ${++number}…]()`;
    uploads.set(stand, upload(file, name, stand));
    text.insert(stand);
  };
  const upload = async (file, name, stand) => {
    let by = "", why = "";
    progress = `Uploading ${name}`;
    try {
      const card = await window.sheafUpload(form.dataset.upload, file, (part) => {
        progress = `Uploading ${name}: ${Math.round(100 * part)} %`;
        state();
      });
      by = card.dataset.markdown;
    } catch (fault) { why = `${name} was not uploaded. ${fault.message}`; }
    text.swap(stand, by);
    uploads.delete(stand);
    settle();
    if (why) say(why);
    return !why;
  };
  // A saved text has no placeholder, so saving waits for the uploads. If one fails, nothing is saved, so that the person
  // reads the message.
  const afterUploads = async (then) => {
    if (waiting) return;
    waiting = true;
    state();
    let good = true;
    while (uploads.size) good = (await Promise.all(uploads.values())).every(Boolean) && good;
    waiting = false;
    if (good) then();
  };
  if (text && form.dataset.upload) {
    chooser.closest("label").hidden = false;
    chooser.addEventListener("change", () => { [...chooser.files].forEach((file) => insert(file)); chooser.value = ""; text.focus(); });
  }

  // The buttons above the text. Tab reaches one of them, and the arrow keys the others.
  const bar = form.querySelector("[data-toolbar]"), outline = form.querySelector("[data-outline]"), panes = form.querySelector(".panes");
  const buttons = () => [...bar.querySelectorAll("button")].filter((b) => b.checkVisibility());
  const rove = (to) => { for (const b of bar.querySelectorAll("button")) b.tabIndex = b === to ? 0 : -1; };
  // fillOutline lists the headings. The editor parses a long text step by step, so the list grows until it is whole.
  const fillOutline = () => {
    const { headings, whole } = text.outline();
    outline.append(...headings.slice(outline.childElementCount, 1000).map((h) => {
      const b = Object.assign(document.createElement("button"), { type: "button", textContent: h.text || "(empty)", title: h.text, dir: "auto" });
      b.dataset.level = h.level;
      b.addEventListener("click", () => { outline.hidePopover(); show("text"); text.jump(h.at); });
      return b;
    }));
    if (!whole) setTimeout(() => { if (outline.matches(":popover-open")) fillOutline(); }, 50);
    else if (!headings.length) outline.append(Object.assign(document.createElement("p"), { className: "muted", textContent: "The text has no headings yet." }));
  };
  const show = (what) => {
    panes.dataset.shows = what;
    for (const b of bar.querySelectorAll("[data-show]")) b.ariaPressed = String(b.dataset.show === what);
    follow();
  };
  if (text) {
    bar.hidden = false;
    form.querySelector("[data-writing]").dataset.scripted = "";
    rove(buttons()[0]);
    // The button that Tab reaches may be hidden when the window becomes wider.
    new ResizeObserver(() => { if (!buttons().some((b) => b.tabIndex === 0)) rove(buttons()[0]); }).observe(bar);
    bar.addEventListener("click", (e) => {
      const button = e.target.closest("button");
      if (!button) return;
      rove(button);
      if (button.dataset.act) text.act(button.dataset.act);
      if (button.dataset.show) show(button.dataset.show);
    });
    bar.addEventListener("keydown", (e) => {
      const all = buttons(), at = all.indexOf(document.activeElement);
      const to = { ArrowRight: all[(at + 1) % all.length], ArrowLeft: all.at(at - 1), Home: all[0], End: all.at(-1) }[e.key];
      if (at < 0 || !to) return;
      e.preventDefault();
      rove(to);
      to.focus();
    });
    outline.addEventListener("beforetoggle", (e) => { if (e.newState !== "open") return; outline.replaceChildren(); fillOutline(); });
    follow = text.scrollWith(pane.querySelector(".sheet"));
  }

  const state = () => {
    if (uploads.size) say(waiting ? progress + ". Saving waits for it." : progress);
    else if (now() === saved) say(suggests ? "" : "Ctrl-S saves.");
    else if (suggests) say(unkept ? "Not proposed yet, and too long to survive a reload." : "Not proposed yet. Your text is kept in this browser.");
    else say(unkept ? "Not saved, and too long to survive a reload. Ctrl-S saves." : "Not saved. Ctrl-S saves.");
  };
  // What is typed within the editor is reported by it, not by events of the form.
  const ours = (e) => text && text.dom.contains(e.target);
  form.addEventListener("input", (e) => { if (!ours(e)) { settle(); soon(); } });
  form.addEventListener("change", (e) => { if (!ours(e)) settle(); });
  form.addEventListener("formdata", (e) => { if (text) e.formData.set("content", text.value); });
  // The page that follows a save deletes the draft.
  let leaving = false;
  addEventListener("pagehide", () => { if (!leaving) settle(); });
  addEventListener("visibilitychange", () => { if (settling && document.hidden) settle(); });
  addEventListener("submit", (e) => { // before the page shows that it is sent
    if (e.target !== form || !uploads.size) return;
    e.preventDefault();
    e.stopImmediatePropagation();
    afterUploads(() => form.requestSubmit(e.submitter));
  }, true);
  form.addEventListener("submit", () => {
    if (text) text.align();
    leaving = true;
    settle();
    try { sessionStorage.setItem("saving", JSON.stringify(mine())); } catch (_) {}
  });
  addEventListener("pageshow", () => { leaving = false; });
  document.addEventListener("sheaf:signs-out", () => { leaving = true; saved = now(); }); // nothing is kept
  addEventListener("beforeunload", (e) => {
    if (leaving) return;
    if (settling) settle(); // the next page may look for the draft before this one is hidden
    if (unkept || uploads.size) e.preventDefault(); // something would be lost
  });

  // Ctrl-S saves, and the editor stays open. If the save is refused, the form is
  // sent normally, and its answer is shown as a page.
  let saving = false;
  const save = async () => {
    if (saving || !form.reportValidity()) return;
    if (uploads.size) { afterUploads(save); return; }
    if (text) text.align();
    settle();
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
      if (now() === sent) say("Saved.");
      else state();
    } else if (answer && answer.status >= 400 && answer.status < 500) form.requestSubmit();
    else say("Not saved: the server is not responding. Your text is kept here; try again in a moment.");
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

  // A refused form has what was typed, so its draft is stored anew, and the draft of the previous page is deleted. A person
  // who comes back here in another way has not saved.
  if (stored !== null) restore();
  else keep();
  delete document.documentElement.dataset.draft; // the room for the notice
  try {
    if (stored === null && !unkept) for (const name of JSON.parse(sessionStorage.getItem("saving") || "[]")) localStorage.removeItem(name);
    sessionStorage.removeItem("saving");
  } catch (_) {}
  state();
  count();
  preview();
})();
