// Selecting several records: checkboxes in lists, rows of the tree. They are moved, shared, deleted or
// dragged together. The message about it has an undo button.
(() => {
  "use strict";
  const { $, $$, on, say, post, dialog } = sheaf;
  const bar = $("#selection");
  if (!bar) return;
  bar.dataset.scripted = "";

  // The selected records, by noun and id, with their names.
  const chosen = new Map();
  sheaf.chosen = chosen;
  const itemOf = (row) => row.dataset.kind === "project-folder" ? "folder:" + row.dataset.id : ["project", "document"].includes(row.dataset.kind) ? row.dataset.kind + ":" + row.dataset.id : null;
  sheaf.itemOf = itemOf;
  const boxes = () => $$("input[name=item][form=selection]");
  const rows = () => $$(".tree [role=treeitem][data-kind]");

  // show updates the page to the selection, and changes only the differences.
  const show = () => {
    for (const box of boxes()) if (box.checked !== chosen.has(box.value)) box.checked = !box.checked;
    for (const row of rows()) {
      const item = itemOf(row), yes = String(chosen.has(item));
      if (item && row.ariaSelected !== yes) row.ariaSelected = yes;
    }
    const says = chosen.size === 1 ? [...chosen.values()][0] + " selected" : chosen.size + " selected", text = $("[data-selected]", bar);
    if (text.textContent !== says) text.textContent = says;
    if (bar.hidden !== !chosen.size) bar.hidden = !chosen.size;
    const rest = $("[data-all]", bar), whole = visible().every((box) => box.checked);
    if (rest.hidden !== whole) rest.hidden = whole;
    if (document.body.classList.contains("selecting") !== chosen.size > 0) document.body.classList.toggle("selecting");
  };
  const set = (item, name, yes) => { if (yes) chosen.set(item, name); else chosen.delete(item); };
  const clear = () => { chosen.clear(); show(); };
  // A click with Shift ticks or clears all boxes from the one before to this one. The page can have been
  // reloaded since, so the box before is found by its value.
  let before = null, several = false;
  const visible = () => boxes().filter((box) => box.checkVisibility());
  const upTo = (box) => {
    const all = visible(), from = all.findIndex((one) => one.value === before), end = all.indexOf(box);
    return several && from >= 0 ? all.slice(Math.min(from, end), Math.max(from, end) + 1) : [box];
  };
  on("mousedown", "input[name=item][form=selection]", (e) => { if (e.shiftKey) e.preventDefault(); }); // no text is selected
  on("click", "input[name=item][form=selection]", (e) => { several = e.shiftKey; });
  on("change", "input[name=item][form=selection]", (_, box) => {
    for (const one of upTo(box)) set(one.value, one.dataset.name, box.checked);
    before = box.value;
    show();
  });
  on("click", "[data-all]", () => { for (const box of visible()) set(box.value, box.dataset.name, true); show(); });
  on("click", "[data-clear]", clear);
  $("[data-clear]", bar).hidden = false;

  // In the tree: Ctrl-click, or Shift-click for a range; the space bar, and Shift with an arrow.
  let last = null;
  const toggle = (row) => { const item = itemOf(row); if (item) { set(item, row.dataset.name, !chosen.has(item)); last = row; show(); } };
  const range = (to) => {
    const all = rows().filter((row) => itemOf(row) && row.checkVisibility() && row.closest("ul.tree") === to.closest("ul.tree")), from = all.indexOf(last), end = all.indexOf(to);
    if (from < 0) { toggle(to); return; }
    for (const row of all.slice(Math.min(from, end), Math.max(from, end) + 1)) chosen.set(itemOf(row), row.dataset.name);
    show();
  };
  document.addEventListener("click", (e) => {
    const row = e.target instanceof Element && e.target.closest(".tree .row[data-move]");
    if (!row || !itemOf(row) || e.target.closest("button, input, [data-menu]") || !(e.ctrlKey || e.metaKey || e.shiftKey)) return;
    e.preventDefault();
    e.stopPropagation();
    if (e.shiftKey) range(row); else toggle(row);
  }, true);
  on("keydown", ".tree .row[role=treeitem][data-move]", (e, row) => {
    if (e.target !== row) return;
    if (e.key === " " && !e.defaultPrevented) { e.preventDefault(); toggle(row); }
    if (e.shiftKey && (e.key === "ArrowDown" || e.key === "ArrowUp")) {
      if (!last || !chosen.has(itemOf(row))) toggle(row);
      setTimeout(() => { if (document.activeElement.matches(".tree .row[data-move]")) range(document.activeElement); });
    }
    if (e.altKey && (e.key === "ArrowDown" || e.key === "ArrowUp")) { e.preventDefault(); step(row, e.key === "ArrowDown"); }
    if (e.key === "Escape" && chosen.size) clear();
  });

  // The dialog asks what to do with them.
  bar.addEventListener("submit", (e) => {
    e.preventDefault();
    const address = new URL(e.submitter.getAttribute("formaction") || bar.action, location.href);
    for (const item of chosen.keys()) address.searchParams.append("item", item);
    htmx.ajax("GET", address.pathname + address.search, { target: "#dialog-body", swap: "innerHTML" });
  });

  // A message says what happened, with the undo button.
  const toast = (from) => {
    const box = $("[data-toast]", from);
    if (!box) return false;
    if (dialog.open) dialog.close();
    // If the record of this page was deleted, the page is left.
    const lost = "gone" in box.dataset && [...chosen.keys()].some((item) => location.pathname.includes(item.split(":")[1]));
    if (lost) { location.assign(bar.dataset.home); return true; }
    clear();
    say(box);
    sheaf.refresh();
    return true;
  };
  document.addEventListener("htmx:afterSwap", (e) => toast(e.detail.target));
  const done = async (answer) => toast(new DOMParser().parseFromString(await answer.text(), "text/html"));
  document.addEventListener("submit", async (e) => {
    if (!e.target.matches("[data-undo]")) return;
    e.preventDefault();
    const button = $("button", e.target);
    if (button.disabled) return;
    button.disabled = true;
    const answer = await post(e.target.action, [...new FormData(e.target)], "That was not undone.");
    if (answer) await done(answer);
  });

  document.addEventListener("keydown", (e) => {
    const undo = $("#said.shown [data-undo]");
    if (!undo || e.key.toLowerCase() !== "z" || !(e.ctrlKey || e.metaKey) || e.shiftKey || e.target.closest("input:not([type=checkbox]), textarea, select")) return;
    e.preventDefault();
    undo.requestSubmit();
  });

  // Dragging into a folder moves all selected rows. Dragging before another row moves only that row.
  sheaf.moveRows = async (row, over) => {
    const item = itemOf(row), all = chosen.has(item) ? [...chosen.keys()] : [item];
    const failed = all.length > 1 ? "They were not moved." : `${row.dataset.name} was not moved.`;
    const answer = await post(bar.action, [...all.map((one) => ["item", one]), ["to", over.dataset.drop]], failed);
    if (answer) await done(answer);
    return answer;
  };
  // arrange puts a row before another one of its level, or at the end if there is none.
  const arrange = async (row, list, before) => {
    const fields = { item: itemOf(row), in: list.id.startsWith("in-") ? list.id.slice(3) : "", before: before ? before.dataset.id : "" };
    const answer = await post(bar.dataset.order, fields, `${row.dataset.name} stays where it is.`);
    if (answer) await done(answer);
    row.focus();
  };
  sheaf.arrange = arrange;
  // put puts documents before or behind the row at, or below it.
  sheaf.put = async (all, at, side) => {
    const fields = [...all.map((row) => ["item", itemOf(row)]), [{ before: "before", behind: "after", over: "in" }[side], at.dataset.id]];
    const answer = await post(bar.dataset.order, fields, all.length > 1 ? "They stay where they are." : `${all[0].dataset.name} stays where it is.`);
    if (answer) await done(answer);
    return answer;
  };
  // Rows of the same kind in the same level.
  const siblings = (row) => [...row.parentElement.parentElement.children].map((li) => li.firstElementChild).filter((one) => one.dataset.kind === row.dataset.kind);
  const step = (row, down) => {
    const all = siblings(row), at = all.indexOf(row), list = row.parentElement.parentElement;
    if (down ? at === all.length - 1 : at === 0) return;
    if (row.dataset.kind === "document") sheaf.put([row], all[at + (down ? 1 : -1)], down ? "behind" : "before");
    else arrange(row, list, down ? all[at + 2] : all[at - 1]);
  };
  document.addEventListener("sheaf:fresh", show);
  show();
})();
