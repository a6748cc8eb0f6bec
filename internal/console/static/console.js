// The few things that a page cannot do by itself. No rule lives here: every act
// is a request that the server judges.
(() => {
  "use strict";
  const $ = (selector, from = document) => from.querySelector(selector);
  const $$ = (selector, from = document) => [...from.querySelectorAll(selector)];
  const on = (type, selector, act) => document.addEventListener(type, (e) => {
    const found = e.target instanceof Element && e.target.closest(selector);
    if (found) act(e, found);
  });

  // Times in the reader's zone; the exact UTC stays in the title.
  const sameYear = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
  const anyYear = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" });
  const times = (from) => {
    for (const t of $$("time[datetime]", from)) {
      const at = new Date(t.dateTime);
      t.textContent = (at.getFullYear() === new Date().getFullYear() ? sameYear : anyYear).format(at);
    }
  };

  // Said to everybody: shown for a moment, above an open dialog too, and read by
  // screen readers.
  let hush;
  const say = (text) => {
    const box = $("#said");
    if (box.matches(":popover-open")) box.hidePopover();
    box.showPopover();
    box.textContent = text;
    box.classList.add("shown");
    clearTimeout(hush);
    hush = setTimeout(() => box.classList.remove("shown"), Math.max(4000, 60 * text.length));
  };

  // Every act of a script goes through post. It returns the answer when the act
  // was done; of anything else it says what happened, beginning with failed, and
  // returns null. Only what the server calls done is done: an answer that leads
  // elsewhere is none.
  const words = async (answer) => {
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const text = $("main p:not(.brand), p", page);
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
      say(failed + " The server does not answer. Try again in a moment.");
    }
    return null;
  };

  // The session is over: the page says so and stays. Whatever is typed in it is
  // sent after signing in, which happens in the dialog.
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

  // Light or dark.
  on("click", "[data-theme-toggle]", () => {
    const root = document.documentElement;
    const dark = (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
    root.dataset.theme = dark ? "light" : "dark";
    try { localStorage.setItem("theme", root.dataset.theme); } catch (_) {}
  });

  // The dialog: a link with data-dialog opens its page in it. Whoever closes it is
  // back at the link, or at the button of the menu that it was in.
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
    // A form is answered within the dialog; a link leaves it.
    for (const form of $$("form", body)) { form.setAttribute("hx-boost", "true"); htmx.process(form); }
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

  // A form is sent once; what it asks first, it asks in a dialog.
  document.addEventListener("submit", (e) => {
    const button = e.submitter;
    if (!button || !button.dataset.confirm || button.dataset.confirmed) return;
    e.preventDefault();
    e.stopImmediatePropagation();
    confirm(button.dataset.confirm, button.textContent, () => { button.dataset.confirmed = "yes"; button.form.requestSubmit(button); });
  }, true);
  // Its button says that it is at work, and what takes long is said.
  let slow;
  document.addEventListener("submit", (e) => {
    const button = e.submitter;
    if (!button || e.defaultPrevented || e.target.method === "get") return;
    if (button.ariaBusy === "true") { e.preventDefault(); e.stopImmediatePropagation(); return; }
    button.ariaBusy = "true";
    clearTimeout(slow);
    slow = setTimeout(() => say("Working…"), 700);
  }, true);
  const rest = (from) => { clearTimeout(slow); for (const button of $$("[aria-busy]", from)) button.ariaBusy = null; };
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

  // Menus stand beside what opened them.
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

  // The menu of a row of the tree: the same acts as on the row's own page.
  const rowMenu = $("#row-menu");
  on("keydown", "[data-menu]", (e, button) => { if (e.key === " ") { e.preventDefault(); button.click(); } });
  on("click", "[data-menu]", (e, button) => {
    if (e.metaKey || e.ctrlKey || e.shiftKey) return;
    e.preventDefault();
    const row = button.closest(".row"), { url, kind } = row.dataset, base = row.dataset.new;
    const items = [["Edit", url + "/edit"], ["Move", url + "/move"]];
    if (kind.endsWith("-folder")) {
      if (row.dataset.depth < 3) items.unshift(["New folder here", base + "/folders/new?in=" + row.dataset.id]);
      if (kind === "project-folder") items.unshift(["New project here", base + "/projects/new?in=" + row.dataset.id]);
      else items.unshift(["New branding here", base + "/brandings/new?in=" + row.dataset.id]);
    }
    items.push(["Delete", url + "/delete"]);
    rowMenu.replaceChildren(...items.map(([text, href]) => {
      const a = Object.assign(document.createElement("a"), { textContent: text, href });
      if (!href.includes("/brandings/new") && !(kind === "branding" && text === "Edit")) a.dataset.dialog = ""; // their editor needs the page
      if (text === "Delete") a.className = "danger";
      return a;
    }));
    rowMenu.openedBy = button;
    rowMenu.showPopover();
    for (const open of $$(".row.open")) open.classList.remove("open");
    row.classList.add("open");
  });
  rowMenu.addEventListener("toggle", (e) => {
    if (e.newState === "closed") for (const open of $$(".row.open")) open.classList.remove("open");
  });

  // Folding.
  on("click", ".twist", (_, twist) => {
    const id = twist.getAttribute("aria-controls"), list = document.getElementById(id);
    list.hidden = !list.hidden;
    twist.setAttribute("aria-expanded", String(!list.hidden));
    twist.closest(".row").ariaExpanded = String(!list.hidden);
    const folded = new Set(JSON.parse(localStorage.getItem("folded") || "[]"));
    if (list.hidden) folded.add(id.slice(3)); else folded.delete(id.slice(3));
    localStorage.setItem("folded", JSON.stringify([...folded].slice(-500)));
  });
  // The tree by the keyboard: up and down along what is open, right into a folder, left out of it.
  on("keydown", "[role=treeitem]", (e, row) => {
    if (e.target !== row || e.altKey || e.ctrlKey || e.metaKey) return;
    const shown = $$("[role=treeitem]", row.closest("[role=tree]")).filter((one) => one.checkVisibility());
    const at = shown.indexOf(row), twist = $(".twist", row), open = row.ariaExpanded === "true";
    const above = row.parentElement.parentElement.closest("li");
    let to = null;
    switch (e.key) {
      case "ArrowDown": to = shown[at + 1]; break;
      case "ArrowUp": to = shown[at - 1]; break;
      case "Home": to = shown[0]; break;
      case "End": to = shown.at(-1); break;
      case "ArrowRight": if (open) to = shown[at + 1]; else if (row.ariaExpanded) twist.click(); break;
      case "ArrowLeft": if (open) twist.click(); else to = above && above.firstElementChild; break;
      case "Enter": $("a", row).click(); break;
      default: return;
    }
    e.preventDefault();
    if (!to) return;
    for (const one of shown) one.tabIndex = -1;
    to.tabIndex = 0;
    to.focus();
  });
  on("click", "[data-fold]", (_, fold) => fold.setAttribute("aria-expanded", String(fold.getAttribute("aria-expanded") !== "true")));

  // Dragging a project, branding or folder onto a folder. The keyboard has Move.
  let drag = null;
  const typeOf = (row) => row.dataset.kind.replace("-folder", "");
  const targetAt = (x, y) => {
    const under = document.elementFromPoint(x, y), target = under && under.closest("[data-drop]");
    if (!target || !drag || target === drag.row || target.dataset.dropKind !== typeOf(drag.row)) return null;
    const inside = drag.row.parentElement;
    return drag.row.dataset.kind.endsWith("-folder") && inside.contains(target) ? null : target;
  };
  document.addEventListener("pointerdown", (e) => {
    const row = e.target instanceof Element && e.target.closest(".row[data-move]");
    if (!row || e.button || e.pointerType === "touch" || e.target.closest("button, [data-menu]")) return;
    drag = { row, x: e.clientX, y: e.clientY, ghost: null, over: null };
  });
  document.addEventListener("pointermove", (e) => {
    if (!drag) return;
    if (!drag.ghost) {
      if (Math.hypot(e.clientX - drag.x, e.clientY - drag.y) < 6) return;
      drag.ghost = document.createElement("div");
      drag.ghost.className = "ghost";
      const icon = $("a .icon", drag.row);
      if (icon) drag.ghost.append(icon.cloneNode(true));
      drag.ghost.append(drag.row.dataset.name);
      document.body.append(drag.ghost);
      document.body.classList.add("dragging");
      drag.row.classList.add("lifted");
    }
    drag.ghost.style.transform = `translate(${e.clientX + 10}px, ${e.clientY + 8}px)`;
    const over = targetAt(e.clientX, e.clientY);
    if (over !== drag.over) {
      if (drag.over) drag.over.classList.remove("over");
      if (over) over.classList.add("over");
      drag.over = over;
    }
  });
  const drop = (cancelled) => {
    if (!drag) return;
    const { row, ghost, over } = drag;
    drag = null;
    if (!ghost) return;
    ghost.remove();
    document.body.classList.remove("dragging");
    row.classList.remove("lifted");
    if (over) over.classList.remove("over");
    // The click that ends a drag opens nothing.
    const stop = (e) => { e.preventDefault(); e.stopPropagation(); };
    addEventListener("click", stop, true);
    setTimeout(() => removeEventListener("click", stop, true), 0);
    if (over && !cancelled) move(row, over);
    else refreshSoon();
  };
  document.addEventListener("pointerup", () => drop(false));
  document.addEventListener("pointercancel", () => drop(true));
  document.addEventListener("keydown", (e) => { if (e.key === "Escape") drop(true); });
  document.addEventListener("dragstart", (e) => { if (e.target.closest && e.target.closest(".row")) e.preventDefault(); });
  const move = async (row, over) => {
    const name = row.dataset.name, to = over.dataset.dropName;
    const done = await post(row.dataset.url + "/move", { [row.dataset.move]: over.dataset.drop }, `${name} was not moved.`);
    if (done) say(`${name} moved to ${to}.`);
    refresh();
  };

  // Search as you type: results below the field, arrows to walk them.
  const field = $(".search input"), results = $("#results");
  if (field) {
    const hide = () => { results.hidden = true; };
    const show = () => { results.hidden = !field.value.trim(); };
    // Whoever walks the results already goes on in the next ones.
    let walking = null;
    document.addEventListener("htmx:beforeSwap", (e) => {
      if (e.detail.target === results) walking = results.contains(document.activeElement) ? path(document.activeElement) : null;
    });
    document.addEventListener("htmx:afterSwap", (e) => {
      if (e.detail.target !== results) return;
      show();
      if (walking) ($(walking, results) || $("a", results) || field).focus();
    });
    field.addEventListener("input", () => { if (!field.value.trim()) hide(); });
    field.addEventListener("focus", () => { if (results.childElementCount) show(); });
    const form = field.form;
    form.addEventListener("focusout", () => setTimeout(() => { if (!form.contains(document.activeElement)) hide(); }, 0));
    form.addEventListener("keydown", (e) => {
      const links = $$("a", results), at = links.indexOf(document.activeElement);
      if (e.key === "Escape") { field.value = ""; hide(); field.blur(); }
      if (e.key === "ArrowDown" && links.length) { e.preventDefault(); links[Math.min(at + 1, links.length - 1)].focus(); }
      if (e.key === "ArrowUp" && links.length) { e.preventDefault(); if (at <= 0) field.focus(); else links[at - 1].focus(); }
    });
    // A slash leads there, but for who is typing; Ctrl-K or Command-K from anywhere.
    document.addEventListener("keydown", (e) => {
      const slash = e.key === "/" && !e.metaKey && !e.ctrlKey && !e.altKey && !e.target.closest("input, textarea, select");
      const chord = e.key.toLowerCase() === "k" && (e.metaKey || e.ctrlKey) && !e.altKey && !e.shiftKey;
      if (dialog.open || !slash && !chord) return;
      e.preventDefault();
      field.focus();
      field.select();
    });
  }

  // The editor keeps what is not saved (editor.js); what has arrived is kept no longer, and
  // nothing is kept for who signs out.
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
  // What a page says once is not in its address: a reload does not say it again.
  for (const part of $$("[data-once]")) {
    const address = new URL(location.href);
    address.searchParams.delete(part.dataset.once);
    history.replaceState(history.state, "", address);
  }

  // Colours and icons of forms.
  on("input", "[data-custom-colour]", (_, custom) => {
    const set = custom.closest("fieldset");
    let own = $("input[data-own]", set);
    if (!own) {
      own = Object.assign(document.createElement("input"), { type: "radio", name: "color" });
      own.dataset.own = "";
      own.className = "sr";
      own.setAttribute("aria-label", "Another colour");
      custom.parentElement.append(own);
    }
    own.value = custom.value;
    own.checked = true;
  });
  // Whoever walks the icons by the keyboard sees the one that is chosen.
  on("change", ".icons [type=radio]", (_, radio) => radio.closest("label").scrollIntoView({ block: "nearest" }));
  on("input", "[data-filter-icons]", (_, input) => {
    const wanted = input.value.trim().toLowerCase();
    for (const label of $$("label[data-name]", input.closest("fieldset"))) label.hidden = !label.dataset.name.includes(wanted);
  });

  // A choice among many is searched on the server as one types; the present one stays.
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
      say("The server does not answer. Try again in a moment.");
    }
  };

  // Live: the parts of a page with class "live" are read again when something
  // happened, unless the reader is just at it.
  const signs = ["events", "deliveries", "minutes"];
  let late = null, latest = 0, later;
  const busy = () => dialog.open || drag || $(".menu:popover-open");
  const refreshSoon = () => { if (late) refresh(late); };
  const refresh = async (kinds = signs) => {
    const parts = $$(".live[id]").filter((part) => kinds.some((kind) => (part.dataset.livePart || "events").split(" ").includes(kind)));
    if (!parts.length) return;
    if (busy()) { late = kinds; return; }
    // Many changes at once are read once a second.
    const wait = latest + 1000 - Date.now();
    if (wait > 0) { clearTimeout(later); later = setTimeout(() => refresh(), wait); return; }
    latest = Date.now();
    late = null;
    let text;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (answer.redirected || !answer.ok) return;
      text = await answer.text();
    } catch (_) {
      return; // the stream comes back with the server, and then the page is read again
    }
    if (ended) ended.hidden = true;
    const page = new DOMParser().parseFromString(text, "text/html");
    if (busy()) { late = kinds; return; }
    for (const part of parts) {
      const fresh = page.getElementById(part.id);
      if (!fresh || !part.isConnected) continue;
      times(fresh);
      const scroll = [part.scrollLeft, part.scrollTop], focus = part.contains(document.activeElement) ? path(document.activeElement) : null;
      const fold = $("[data-fold]", part);
      if (fold) $("[data-fold]", fresh).setAttribute("aria-expanded", fold.getAttribute("aria-expanded"));
      for (const open of $$("details[open][id]", part)) { const again = $("#" + open.id, fresh); if (again) again.open = true; }
      part.replaceWith(document.adoptNode(fresh));
      htmx.process(fresh);
      if (fresh.id === "tree") foldTree();
      fresh.scrollTo(...scroll);
      if (focus) { const again = $(focus, fresh); if (again) again.focus({ preventScroll: true }); }
      fresh.dispatchEvent(new CustomEvent("sheaf:fresh", { bubbles: true }));
    }
  };
  // How to find an element again in the fresh part: by its id, address or name.
  const path = (el) => {
    if (el.id) return "#" + CSS.escape(el.id);
    const by = ["href", "aria-label"].find((name) => el.getAttribute(name));
    return by ? `${el.localName}[${by}="${CSS.escape(el.getAttribute(by))}"]` : null;
  };
  dialog.addEventListener("close", refreshSoon);
  document.addEventListener("toggle", (e) => { if (e.newState === "closed") refreshSoon(); }, true);
  if (document.body.dataset.live && $(".live")) {
    let stream;
    const listen = () => {
      if (stream) return;
      stream = new EventSource(document.body.dataset.live);
      for (const kind of signs) stream.addEventListener(kind, () => refresh([kind]));
      stream.addEventListener("signed-out", () => { quiet(); signedOut(); });
      // A server that comes back may have much to tell.
      let broken = false;
      stream.addEventListener("error", () => { broken = true; });
      stream.addEventListener("open", () => { if (broken) refresh(); broken = false; });
    };
    const quiet = () => { if (stream) { stream.close(); stream = null; } };
    // A page that nobody sees holds no connection; browsers have six a site.
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "visible") { listen(); refresh(); }
      else quiet();
    });
    addEventListener("pagehide", quiet);
    if (document.visibilityState === "visible") listen();
  }

  document.addEventListener("htmx:afterSwap", (e) => times(e.detail.target));
  document.addEventListener("sheaf:added", (e) => times(e.target));
  document.addEventListener("htmx:sendError", () => say("The server does not answer. Nothing is known to have changed: try again in a moment."));
  // The dialog shows the sign-in form itself; elsewhere it would be out of place.
  document.addEventListener("htmx:beforeSwap", (e) => {
    if (e.detail.xhr.status !== 401 || e.detail.target === body) return;
    e.detail.shouldSwap = false;
    signedOut("That was not done.");
  });
  times(document);
  // Where the tabs are wider than the window, the current one is in sight.
  const inSight = () => { const current = $(".tabs [aria-current]"); if (current) current.scrollIntoView({ block: "nearest", inline: "nearest" }); };
  addEventListener("resize", inSight);
  inSight();
})();
