// The tree of folders: opening and closing, the arrow keys, the menus of rows, and dragging.
(() => {
  "use strict";
  const { $, $$, on, say, post, words, signedOut } = sheaf;

  // A folder's rows are read when it is opened. Which ones are open is kept in a cookie, so that the next
  // page comes with them; a reader has at most as many open as the server shows.
  const maxOpen = 20, cookie = "sheaf-open";
  const opened = () => (document.cookie.split("; ").find((one) => one.startsWith(cookie + "=")) || "").slice(cookie.length + 1).split(".").filter(Boolean);
  const keep = (ids) => {
    const secure = location.protocol === "https:" ? "; secure" : "";
    document.cookie = `${cookie}=${ids.join(".")}; path=${$("#tree").dataset.base}; max-age=31536000; samesite=strict${secure}`;
  };
  const remember = (id, open) => {
    const ids = opened().filter((one) => one !== id);
    if (open) { ids.push(id); sheaf.closed.delete(id); } else sheaf.closed.add(id);
    for (const oldest of ids.splice(0, Math.max(ids.length - maxOpen, 0))) show(oldest, false);
    keep(ids);
    sheaf.touched();
  };
  const show = (id, open) => {
    const list = document.getElementById("in-" + id), twist = $(`[aria-controls="in-${CSS.escape(id)}"]`);
    if (!list) return;
    list.hidden = !open;
    twist.setAttribute("aria-expanded", String(open));
    twist.closest(".row").ariaExpanded = String(open);
  };
  const load = async (list, address) => {
    try {
      const answer = await fetch(address, { headers: { "HX-Request": "true" } });
      if (answer.status === 401) { signedOut(); return false; }
      if (!answer.ok) { say(await words(answer)); return false; }
      list.innerHTML = await answer.text();
      roles(document);
      return true;
    } catch (_) {
      say("The server does not answer. Try again in a moment.");
      return false;
    }
  };
  const setOpen = async (id, open) => {
    const list = document.getElementById("in-" + id);
    if (!list) return;
    const row = list.previousElementSibling;
    if (open && !list.childElementCount && !await load(list, row.dataset.url + "/branch")) return;
    $(".twist", row).disabled = false;
    show(id, open);
    remember(id, open);
    sheaf.refreshLate();
  };
  on("click", ".twist", (_, twist) => setOpen(twist.getAttribute("aria-controls").slice(3), twist.getAttribute("aria-expanded") !== "true"));

  // With scripts the lists are a tree, walked by the arrow keys: one of its rows is in the order of Tab, the
  // present one or else the first.
  const roles = (root) => {
    for (const tree of $$("ul.tree", root)) {
      if (!tree.role) {
        Object.assign(tree, { role: "tree", ariaLabel: $("h2", tree.previousElementSibling).textContent.trim() });
        if (tree.id === "tree-projects" && $("#selection")) tree.ariaMultiSelectable = "true"; // select.js
      }
      for (const row of $$(".row:not([role])", tree)) dressRow(row);
      for (const rest of $$(".rest:not([role])", tree)) { rest.role = "none"; Object.assign($("a", rest), { role: "treeitem", tabIndex: -1 }); }
      oneStop($$(".row", tree));
    }
  };
  const dressRow = (row) => {
    const item = row.parentElement, group = row.nextElementSibling, above = item.parentElement.closest("li");
    item.role = "none";
    Object.assign(row, { role: "treeitem", ariaLabel: row.dataset.name, tabIndex: -1 });
    if (row.dataset.move && row.dataset.kind.startsWith("project")) row.ariaSelected = "false"; // it can be selected: select.js
    row.ariaLevel = String(above ? Number(above.firstElementChild.ariaLevel) + 1 : 1);
    for (const inner of $$("a:not(.more), .twist", row)) inner.tabIndex = -1;
    if (!group) return;
    group.role = "group";
    if (!$(".twist", row).disabled) row.ariaExpanded = String(!group.hidden);
  };
  const oneStop = (rows) => {
    if (!rows.length) return;
    const stops = rows.filter((row) => row.tabIndex === 0);
    const stop = stops.find((row) => row === document.activeElement) || stops[0] || rows.find((row) => $("[aria-current]", row)) || rows[0];
    for (const row of stops) if (row !== stop) row.tabIndex = -1;
    if (stop.tabIndex) stop.tabIndex = 0;
  };
  roles(document);
  sheaf.dress.push(roles);
  document.addEventListener("sheaf:fresh", (e) => { if (e.target.id === "tree") roles(document); });
  keep([...new Set([...opened(), ...$$("#tree .twist[aria-expanded=true]").map((twist) => twist.getAttribute("aria-controls").slice(3))])].slice(-maxOpen));

  // The tree by the keyboard: up and down along what is open, right into a folder, left out of it.
  on("keydown", "[role=treeitem]", (e, row) => {
    if (e.target !== row || e.altKey || e.ctrlKey || e.metaKey) return; // with Alt: select.js
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
      case "Enter": ($("a", row) || row).click(); break;
      default: return;
    }
    e.preventDefault();
    if (!to) return;
    for (const one of shown) one.tabIndex = -1;
    to.tabIndex = 0;
    to.focus();
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

  // Dragging a project, branding or folder onto a folder. The keyboard has Move.
  let drag = null;
  sheaf.busy.push(() => drag);
  // A row is put before or behind another one of its kind where the pointer is at that one's edge; the
  // middle of a folder takes it in.
  const spotAt = (x, y) => {
    const under = document.elementFromPoint(x, y), row = under && under.closest("#tree .row[data-move]");
    if (!row || !drag || row === drag.row || !sheaf.itemOf || !sheaf.itemOf(row) || row.dataset.kind !== drag.row.dataset.kind || drag.row.parentElement.contains(row)) return null;
    const box = row.getBoundingClientRect(), part = (y - box.top) / box.height, edge = row.dataset.kind === "project" ? .5 : .25;
    if (part < edge) return { row, side: "before" };
    if (part <= 1 - edge || row.ariaExpanded === "true" || row.parentElement.nextElementSibling?.matches(".rest")) return null;
    return { row, side: "behind" };
  };
  const mark = (spot) => {
    for (const row of $$(".row.before, .row.behind")) row.classList.remove("before", "behind");
    if (spot) spot.row.classList.add(spot.side);
  };
  const putAt = (row, { row: at, side }) => {
    const list = at.parentElement.parentElement;
    let next = side === "before" ? at : at.parentElement.nextElementSibling?.firstElementChild;
    if (next === row) next = row.parentElement.nextElementSibling?.firstElementChild;
    sheaf.arrange(row, list, next && next.dataset.kind === row.dataset.kind ? next : null);
  };
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
      const several = sheaf.chosen && sheaf.itemOf(drag.row) && sheaf.chosen.has(sheaf.itemOf(drag.row)) ? sheaf.chosen.size : 1;
      drag.ghost.append(several > 1 ? several + " selected" : drag.row.dataset.name);
      document.body.append(drag.ghost);
      document.body.classList.add("dragging");
      drag.row.classList.add("lifted");
    }
    drag.ghost.style.transform = `translate(${e.clientX + 10}px, ${e.clientY + 8}px)`;
    drag.spot = spotAt(e.clientX, e.clientY);
    mark(drag.spot);
    const over = drag.spot ? null : targetAt(e.clientX, e.clientY);
    if (over !== drag.over) {
      if (drag.over) drag.over.classList.remove("over");
      if (over) over.classList.add("over");
      drag.over = over;
    }
  });
  const drop = (cancelled) => {
    if (!drag) return;
    const { row, ghost, over, spot } = drag;
    drag = null;
    if (!ghost) return;
    ghost.remove();
    document.body.classList.remove("dragging");
    row.classList.remove("lifted");
    if (over) over.classList.remove("over");
    mark(null);
    // The click that ends a drag opens nothing.
    const stop = (e) => { e.preventDefault(); e.stopPropagation(); };
    addEventListener("click", stop, true);
    setTimeout(() => removeEventListener("click", stop, true), 0);
    if (spot && !cancelled) putAt(row, spot);
    else if (over && !cancelled) move(row, over);
    else sheaf.refreshLate();
  };
  document.addEventListener("pointerup", () => drop(false));
  document.addEventListener("pointercancel", () => drop(true));
  document.addEventListener("keydown", (e) => { if (e.key === "Escape") drop(true); });
  document.addEventListener("dragstart", (e) => { if (e.target.closest && e.target.closest(".row")) e.preventDefault(); });
  const move = async (row, over) => {
    const name = row.dataset.name, to = over.dataset.dropName, several = sheaf.itemOf && sheaf.itemOf(row);
    const done = several ? await sheaf.moveRows(row, over) : await post(row.dataset.url + "/move", { [row.dataset.move]: over.dataset.drop }, `${name} was not moved.`);
    if (done && !several) say(`${name} moved to ${to}.`);
    if (done && over.dataset.drop) await setOpen(over.dataset.drop, true);
    sheaf.refresh();
  };

})();
