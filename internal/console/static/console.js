// What a page cannot do without a script. It contains no rule: the server
// checks every action.
(() => {
  "use strict";
  const $ = (selector, from = document) => from.querySelector(selector);
  const $$ = (selector, from = document) => [...from.querySelectorAll(selector)];
  const on = (type, selector, act) => document.addEventListener(type, (e) => {
    const found = e.target instanceof Element && e.target.closest(selector);
    if (found) act(e, found);
  });

  const times = window.sheafTimes; // of times.js

  // A message, which screen readers read too. It is shown for a moment, also above an open dialog. A
  // message with a button stays until it is closed or replaced, so that the person need not hurry.
  let hush;
  const say = (what) => {
    const box = $("#said");
    if (box.matches(":popover-open")) box.hidePopover();
    box.showPopover();
    box.replaceChildren(what);
    box.classList.add("shown");
    clearTimeout(hush);
    if (!$("button", box)) hush = setTimeout(quieten, Math.max(4000, 60 * box.textContent.length));
  };
  const quieten = () => $("#said").classList.remove("shown");
  on("click", "[data-hush]", () => { quieten(); $("#said").replaceChildren(); });

  // Every action of a script uses post. It returns the answer if the action was
  // done. Otherwise it shows a message that begins with failed, and returns null.
  // A redirect does not count as done.
  const words = async (answer) => {
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const text = $("main p:not(.brand)", page) || $("p", page);
    return text ? text.textContent.trim() : "The server answered " + answer.status + ".";
  };
  const post = async (address, fields, failed) => {
    try {
      const answer = await fetch(address, {
        method: "POST", headers: { "HX-Request": "true", "HX-Current-URL": location.href },
        body: new URLSearchParams(fields), redirect: "error",
      });
      if (answer.status === 401) { signedOut(failed); return null; }
      if (answer.ok && !answer.headers.get("HX-Redirect")) return answer;
      say(failed + " " + await words(answer));
    } catch (_) {
      say(failed + " The server is not responding. Try again in a moment.");
    }
    return null;
  };

  // The session has ended: the page says so and stays open. After signing in,
  // in the dialog, the person can send what they typed.
  const ended = $("#ended");
  const signedOut = (failed = "") => {
    say((failed + " Your session has ended.").trim());
    if (!ended) return;
    ended.hidden = false;
    if (failed) signIn();
  };
  const signIn = () => {
    if (!dialog.open) htmx.ajax("GET", ended.dataset.signIn + encodeURIComponent(here()), { target: "#dialog-body", swap: "innerHTML" });
  };
  const here = () => location.pathname.slice(ended.dataset.base.length) + location.search;
  on("click", "[data-sign-in-here]", signIn);

  // Switch between light and dark.
  on("click", "[data-theme-toggle]", () => {
    const root = document.documentElement;
    const dark = (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
    root.dataset.theme = dark ? "light" : "dark";
    try { localStorage.setItem("theme", root.dataset.theme); } catch (_) {}
  });

  // The dialog: a link with data-dialog opens its page in it. Closing it puts the
  // focus back on the link, or on the button of the menu that it was in.
  const dialog = $("#dialog"), body = $("#dialog-body");
  let opener = null;
  on("click", "a[data-dialog]", (e, link) => {
    if (e.metaKey || e.ctrlKey || e.shiftKey || e.button) return;
    e.preventDefault();
    opener = link;
    for (const open of $$(".menu:popover-open")) { opener = open.placedBy || link; open.hidePopover(); }
    htmx.ajax("GET", link.href, { target: "#dialog-body", swap: "innerHTML" });
  });
  document.addEventListener("htmx:afterSwap", (e) => {
    if (e.detail.target !== body) return;
    if (ended && e.detail.xhr.status !== 401) ended.hidden = true;
    // The answer to a form is shown in the dialog. A link closes it.
    for (const form of $$("form:not([data-undo])", body)) { form.setAttribute("hx-boost", "true"); htmx.process(form); }
    if (!dialog.open) dialog.showModal();
    const first = $("[aria-invalid]", body) || $("[autofocus]", body) || $("input:not([type=hidden]), select, textarea", body) || $(".actions [data-close], .primary", body);
    if (first) { first.focus(); if (first.select && first.type !== "radio") first.select(); }
  });
  on("click", "[data-close]", () => dialog.close());
  dialog.addEventListener("close", () => {
    body.replaceChildren();
    if (opener) opener.focus();
    opener = null;
  });
  dialog.addEventListener("mousedown", (e) => { if (e.target === dialog && !$("input, textarea, .secret", dialog)) dialog.close(); });

  // A form is sent once. A form with a question asks it in a dialog first.
  document.addEventListener("submit", (e) => {
    const button = e.submitter;
    if (!button || !button.dataset.confirm || button.dataset.confirmed) return;
    e.preventDefault();
    e.stopImmediatePropagation();
    confirm(button.dataset.confirm, button.textContent, () => { button.dataset.confirmed = "yes"; button.form.requestSubmit(button); });
  }, true);
  // The button shows that the form is being sent. If it takes long, a message says so.
  let slow;
  const working = "Working…";
  document.addEventListener("submit", (e) => {
    const button = e.submitter;
    if (!button || e.defaultPrevented || e.target.method === "get" || e.target.matches("[data-undo]")) return;
    if (button.ariaBusy === "true") { e.preventDefault(); e.stopImmediatePropagation(); return; }
    button.ariaBusy = "true";
    clearTimeout(slow);
    slow = setTimeout(() => say(working), 700);
  }, true);
  const rest = (from) => {
    clearTimeout(slow);
    if ($("#said").textContent === working) quieten();
    for (const button of $$("[aria-busy]", from)) button.ariaBusy = null;
  };
  document.addEventListener("htmx:afterRequest", (e) => { if (!e.detail.xhr.getResponseHeader("HX-Redirect")) rest(e.detail.elt); });
  addEventListener("pageshow", () => rest(document));
  const confirm = (text, act, then) => {
    const box = document.createElement("dialog");
    box.className = "dialog";
    box.setAttribute("aria-labelledby", "confirm-title");
    const make = (tag, props, ...children) => { const el = Object.assign(document.createElement(tag), props); el.append(...children); return el; };
    const no = make("button", { type: "button", textContent: "Cancel" });
    const yes = make("button", { type: "button", textContent: act.trim(), className: "primary" });
    box.append(make("h2", { id: "confirm-title", textContent: act.trim() + "?" }), make("p", { textContent: text }), make("div", { className: "actions" }, no, yes));
    document.body.append(box);
    no.onclick = () => box.close();
    yes.onclick = () => { box.close(); then(); };
    box.onclose = () => box.remove();
    box.showModal();
    yes.focus();
  };

  // Copy.
  on("click", "[data-copy]", async (_, button) => {
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      say("Copied.");
    } catch (_) {
      const code = button.parentElement.querySelector("code");
      if (code) getSelection().selectAllChildren(code);
      say("Press Ctrl+C to copy.");
    }
  });

  // A menu is placed beside its button.
  const place = (menu, by) => {
    const at = by.getBoundingClientRect(), size = menu.getBoundingClientRect();
    const left = Math.max(8, Math.min(at.left, innerWidth - size.width - 8));
    const top = at.bottom + 4 + size.height > innerHeight - 8 ? Math.max(8, at.top - 4 - size.height) : at.bottom + 4;
    menu.style.left = left + "px";
    menu.style.top = top + "px";
  };
  document.addEventListener("toggle", (e) => {
    if (e.newState !== "open" || !e.target.matches(".menu")) return;
    const by = e.target.openedBy || $(`[popovertarget="${e.target.id}"]`);
    if (by) place(e.target, by);
    e.target.placedBy = by;
    const first = $("a, button", e.target);
    if (first) first.focus();
  }, true);
  addEventListener("resize", () => { for (const menu of $$(".menu:popover-open")) if (menu.placedBy) place(menu, menu.placedBy); });
  on("keydown", ".menu", (e, menu) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (!step) return;
    e.preventDefault();
    const items = $$("a, button", menu);
    items[(items.indexOf(document.activeElement) + step + items.length) % items.length].focus();
  });

  // Finds an element again in a reloaded part: by its id, address or name.
  const path = (el) => {
    if (el.id) return "#" + CSS.escape(el.id);
    const by = ["href", "aria-label"].find((name) => el.getAttribute(name));
    return by ? `${el.localName}[${by}="${CSS.escape(el.getAttribute(by))}"]` : null;
  };

  // The tree of a phone.
  on("click", "[data-fold]", (_, fold) => fold.setAttribute("aria-expanded", String(fold.getAttribute("aria-expanded") !== "true")));

  // The editor stores unsaved text (editor.js). It is deleted after a save, and all of it at
  // sign-out.
  if ($("[data-once=saved]")) {
    try {
      for (const key of JSON.parse(sessionStorage.getItem("saving") || "[]")) localStorage.removeItem(key);
      sessionStorage.removeItem("saving");
    } catch (_) {}
  }
  document.addEventListener("submit", (e) => {
    if (!e.target.matches("[data-signs-out]") || e.defaultPrevented) return;
    try {
      for (const key of Object.keys(localStorage)) if (key.startsWith("draft ")) localStorage.removeItem(key);
    } catch (_) {}
    document.dispatchEvent(new CustomEvent("sheaf:signs-out"));
  });
  // A message that is shown once is removed from the address, so that a reload does not show it again.
  // live.js still requests it, so that a live change does not remove it before it was read.
  const once = new Map();
  for (const part of $$("[data-once]")) {
    const address = new URL(location.href), name = part.dataset.once;
    once.set(name, address.searchParams.get(name));
    address.searchParams.delete(name);
    history.replaceState(history.state, "", address);
  }

  // Colors and icons of forms.
  on("input", "[data-custom-color]", (_, custom) => {
    const set = custom.closest("fieldset");
    let own = $("input[data-own]", set);
    if (!own) {
      own = Object.assign(document.createElement("input"), { type: "radio", name: "color" });
      own.dataset.own = "";
      own.className = "sr";
      own.setAttribute("aria-label", "Custom color");
      custom.parentElement.append(own);
    }
    own.value = custom.value;
    own.checked = true;
  });
  // With the keyboard, the chosen icon is scrolled into view.
  on("change", ".icons [type=radio]", (_, radio) => radio.closest("label").scrollIntoView({ block: "nearest" }));
  on("input", "[data-filter-icons]", (_, input) => {
    const wanted = input.value.trim().toLowerCase();
    for (const label of $$("label[data-name]", input.closest("fieldset"))) label.hidden = !label.dataset.name.includes(wanted);
  });

  // A list is filtered while the person types, and sorted by the chosen order. Without this script its
  // form has a button.
  let narrowing;
  const narrow = (form) => {
    const address = new URL(location.href), fields = new FormData(form);
    for (const name of [...address.searchParams.keys()]) address.searchParams.delete(name);
    for (const [name, value] of fields) if (value.trim()) address.searchParams.set(name, value);
    history.replaceState(history.state, "", address);
    sheaf.refresh();
  };
  on("input", "[data-narrowing]", (e, form) => {
    clearTimeout(narrowing);
    narrowing = setTimeout(() => narrow(form), e.target.matches("select") ? 0 : 200);
  });
  on("submit", "[data-narrowing]", (e, form) => { e.preventDefault(); clearTimeout(narrowing); narrow(form); });

  // While the person types, the server searches the options of a choice. The current one stays.
  let finding;
  on("input", "[data-find]", (_, input) => {
    clearTimeout(finding);
    finding = setTimeout(() => findOptions(input), 200);
  });
  on("keydown", "[data-find]", (e, input) => { if (e.key === "Enter") { e.preventDefault(); findOptions(input); } });
  const findOptions = async (input) => {
    const select = document.getElementById(input.dataset.findFor), asked = input.value;
    const address = new URL(input.dataset.find, location.href);
    address.searchParams.set("q", asked.trim());
    address.searchParams.set("now", select.value);
    try {
      const answer = await fetch(address, { headers: { "HX-Request": "true" } });
      if (answer.status === 401) { signedOut(); return; }
      if (!answer.ok) { say(await words(answer)); return; }
      const text = await answer.text();
      if (input.value === asked) select.innerHTML = text;
    } catch (_) {
      say("The server is not responding. Try again in a moment.");
    }
  };

  document.addEventListener("htmx:afterSwap", (e) => times(e.detail.target));
  document.addEventListener("sheaf:added", (e) => times(e.target));
  document.addEventListener("htmx:sendError", () => say("The server is not responding. The change may not have been made. Try again in a moment."));
  // The sign-in form is shown only in the dialog.
  document.addEventListener("htmx:beforeSwap", (e) => {
    if (e.detail.xhr.status !== 401 || e.detail.target === body) return;
    e.detail.shouldSwap = false;
    signedOut("That was not done.");
  });
  times(document);
  // For the other scripts. The functions in busy report whether a change of the page would disturb the
  // reader now. The functions in dress prepare every part that comes from the server.
  window.sheaf = { $, $$, on, say, post, words, path, signedOut, ended, dialog, once, busy: [() => dialog.open, () => $(".menu:popover-open")], dress: [times], refresh: () => {} };
  // If the tabs are wider than the window, the current one is scrolled into view.
  const inSight = () => { const current = $(".tabs [aria-current]"); if (current) current.scrollIntoView({ block: "nearest", inline: "nearest" }); };
  addEventListener("resize", inSight);
  inSight();
})();
