// The jump: Ctrl-K, or a slash, opens one field that finds records, pages and
// actions. The list below it is a listbox of links. The focus stays in the
// field, whose attribute names the active link.
(() => {
  "use strict";
  const { $, $$, on, words, signedOut, dialog } = sheaf;
  const jump = $("#jump");
  if (!jump) return;
  const field = $("input", jump), list = $("#jump-list"), said = $("[role=status]", jump);
  let asks = 0, waiting = false, go = false, soon;

  const options = () => $$("[role=option]", list);
  const active = () => $("[aria-selected=true]", list);
  const choose = (option) => {
    const before = active();
    if (before) before.ariaSelected = "false";
    if (!option) { field.removeAttribute("aria-activedescendant"); return; }
    option.ariaSelected = "true";
    field.setAttribute("aria-activedescendant", option.id);
    option.scrollIntoView({ block: "nearest" });
  };
  const step = (by) => {
    const all = options();
    if (all.length) choose(all[(all.indexOf(active()) + by + all.length) % all.length]);
  };

  // If Enter is pressed before the answer is there, it means the first hit for the typed text, not for the
  // text of the hits that are still shown.
  const find = async () => {
    const asked = ++asks, address = new URL(jump.dataset.jump, location.href);
    address.searchParams.set("q", field.value.trim());
    waiting = true;
    const text = await read(address);
    if (asked !== asks) return;
    waiting = false;
    if (text === null) return;
    list.innerHTML = text;
    list.scrollTop = 0;
    choose(options()[0]);
    const count = options().length;
    said.textContent = count === 1 ? "1 result" : count + " results";
    if (go) enter();
  };
  const read = async (address) => {
    try {
      const answer = await fetch(address, { headers: { "HX-Request": "true" } });
      if (answer.status === 401) { jump.close(); signedOut(); return null; }
      if (answer.ok) return await answer.text();
      fault(await words(answer));
    } catch (_) {
      fault("The server is not responding. Try again in a moment.");
    }
    return null;
  };
  const fault = (text) => {
    list.replaceChildren(Object.assign(document.createElement("p"), { className: "hint", textContent: text }));
    choose(null);
    said.textContent = text;
  };
  const enter = () => {
    go = waiting;
    const option = active();
    if (!go && option) option.click();
  };

  const open = () => {
    if (jump.open || dialog.open) return;
    for (const menu of $$(".menu:popover-open")) menu.hidePopover();
    field.value = "";
    list.replaceChildren();
    go = false;
    jump.showModal();
    field.focus();
    find();
  };
  on("click", "[data-jump-open]", (e) => {
    if (e.metaKey || e.ctrlKey || e.shiftKey || e.button) return;
    e.preventDefault();
    open();
  });
  // A slash, except in a text field; Ctrl-K or Command-K everywhere.
  document.addEventListener("keydown", (e) => {
    const slash = e.key === "/" && !e.metaKey && !e.ctrlKey && !e.altKey && !e.target.closest("input, textarea, select, [contenteditable]");
    const chord = e.key.toLowerCase() === "k" && (e.metaKey || e.ctrlKey) && !e.altKey && !e.shiftKey;
    if (!slash && !chord) return;
    e.preventDefault();
    if (jump.open && chord) jump.close();
    else open();
  });

  field.addEventListener("input", () => {
    clearTimeout(soon);
    asks++; // an answer to what was in the field before comes too late
    waiting = true;
    go = false;
    soon = setTimeout(find, 80);
  });
  field.addEventListener("keydown", (e) => {
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 5, PageUp: -5 }[e.key];
    if (by) { e.preventDefault(); step(by); }
    if (e.key === "Enter" && !e.isComposing) { e.preventDefault(); enter(); }
  });
  // A page for the dialog opens over this one. Any other link leaves the page.
  list.addEventListener("click", (e) => {
    const option = e.target.closest("[role=option]");
    if (option && !(e.metaKey || e.ctrlKey || e.shiftKey)) jump.close();
  }, true);
  jump.addEventListener("mousedown", (e) => { if (e.target === jump) jump.close(); });
})();
