// The tree of folders, and that of documents: opening and closing, the arrow keys, the menus of rows,
// and dragging.
(() => {
  "use strict";
  const { $, $$, on, say, post, words, signedOut } = sheaf;

  // The rows in a folder, or below a document, are loaded when it is opened. A cookie of each tree has
  // what is open, so that the next page shows it open too; at most as many as the server shows.
  const maxOpen = 20, folders = "sheaf-open", documents = "sheaf-open-documents";
  const opened = (cookie) => (document.cookie.split("; ").find((one) => one.startsWith(cookie + "=")) || "").slice(cookie.length + 1).split(".").filter(Boolean);
  const keep = (cookie, ids) => {
    const secure = location.protocol === "https:" ? "; secure" : "";
    document.cookie = `${cookie}=${ids.join(".")}; path=${$("#tree").dataset.base}; max-age=31536000; samesite=strict${secure}`;
  };
  const remember = (cookie, id, open) => {
    const ids = opened(cookie).filter((one) => one !== id);
    if (open) ids.push(id);
    if (cookie === folders) { if (open) sheaf.closed.delete(id); else sheaf.closed.add(id); }
    for (const oldest of ids.splice(0, Math.max(ids.length - maxOpen, 0))) show(oldest, false);
    if (cookie === documents && open) makeRoom(ids, id);
    keep(cookie, ids);
    sheaf.touched();
  };
  // makeRoom closes the documents that were opened first, if the tree shows more rows than the server
  // would. The documents above the one that was just opened stay open.
  const makeRoom = (ids, id) => {
    const list = document.getElementById("in-" + id), tree = list && list.closest("ul.tree");
    for (const other of tree ? [...ids] : []) {
      if ($$(".row", tree).filter((row) => !row.closest("ul[hidden]")).length <= Number(tree.dataset.rows)) return;
      const at = document.getElementById("in-" + other);
      if (at && at.contains(list)) continue;
      ids.splice(ids.indexOf(other), 1);
      show(other, false);
    }
  };
  const show = (id, open) => {
    const list = document.getElementById("in-" + id), twist = $(`[aria-controls="in-${CSS.escape(id)}"]`);
    if (!list) return;
    list.hidden = !open;
    twist.setAttribute("aria-expanded", String(open));
    const row = twist.closest(".row"), within = !open && list.contains(document.activeElement);
    row.ariaExpanded = String(open);
    if (!open && row.closest("[role=tree]")) oneStop(row.closest("[role=tree]"));
    if (within) row.focus();
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
      say("The server is not responding. Try again in a moment.");
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
    remember(list.closest("#tree") ? folders : documents, id, open);
    sheaf.refreshLate();
  };
  on("click", ".twist", (_, twist) => setOpen(twist.getAttribute("aria-controls").slice(3), twist.getAttribute("aria-expanded") !== "true"));

  // With this script the lists are a tree for the arrow keys. Tab reaches one of its rows, the current
  // one or else the first.
  const roles = (root) => {
    for (const tree of $$("ul.tree", root)) {
      if (!tree.role) {
        Object.assign(tree, { role: "tree", ariaLabel: $("h2", tree.previousElementSibling).textContent.trim() });
        if (tree.id !== "tree-brandings" && $("#selection")) tree.ariaMultiSelectable = "true"; // select.js
      }
      for (const row of $$(".row:not([role])", tree)) dressRow(row);
      for (const rest of $$(".rest:not([role])", tree)) { rest.role = "none"; Object.assign($("a", rest), { role: "treeitem", tabIndex: -1 }); }
      oneStop(tree);
    }
  };
  const dressRow = (row) => {
    const item = row.parentElement, group = row.nextElementSibling, above = item.parentElement.closest("li");
    item.role = "none";
    Object.assign(row, { role: "treeitem", ariaLabel: row.dataset.name, tabIndex: -1 });
    if (row.dataset.move && !row.dataset.kind.startsWith("branding")) row.ariaSelected = "false"; // it can be selected: select.js
    const keys = [...(row.dataset.move && row.dataset.kind === "document" ? ["M"] : []), ...($(".more", row) ? ["Shift+F10"] : [])];
    if (keys.length) row.setAttribute("aria-keyshortcuts", keys.join(" "));
    row.ariaLevel = String(above ? Number(above.firstElementChild.ariaLevel) + 1 : 1);
    for (const inner of $$("a, .twist, input", row)) inner.tabIndex = -1;
    if (!group) return;
    group.role = "group";
    if (!$(".twist", row).disabled) row.ariaExpanded = String(!group.hidden);
  };
  // Tab stops once in a tree: at the row that had the focus last, or else at the current one. A row in a
  // closed folder cannot be the stop.
  const oneStop = (tree) => {
    const all = $$("[role=treeitem]", tree), open = all.filter((one) => !one.closest("ul[hidden]"));
    if (!open.length) return;
    const stops = all.filter((one) => one.tabIndex === 0), may = stops.filter((one) => open.includes(one));
    const stop = may.find((one) => one === document.activeElement) || may[0] || open.find((one) => $("[aria-current]", one)) || open[0];
    for (const one of stops) if (one !== stop) one.tabIndex = -1;
    if (stop.tabIndex) stop.tabIndex = 0;
  };
  // The row that has the focus is the stop, however it got the focus.
  on("focusin", "[role=treeitem]", (e, row) => {
    if (e.target !== row) return;
    for (const one of $$("[role=treeitem][tabindex='0']", row.closest("[role=tree]"))) if (one !== row) one.tabIndex = -1;
    row.tabIndex = 0;
  });
  roles(document);
  sheaf.dress.push(roles);
  document.addEventListener("sheaf:fresh", (e) => { if ($("ul.tree", e.target)) roles(document); });
  keep(folders, [...new Set([...opened(folders), ...$$("#tree .twist[aria-expanded=true]").map((twist) => twist.getAttribute("aria-controls").slice(3))])].slice(-maxOpen));

  // Letters that are typed within a second of each other find the next row whose name begins with them. One
  // letter again and again goes through the rows that begin with it. In the tree of documents, M alone
  // picks a row up.
  let typed = "", typedAt = 0;
  const typing = (e) => typed && e.timeStamp - typedAt < 1000;
  const byName = (e, shown, at) => {
    typed = (typing(e) ? typed : "") + e.key.toLocaleLowerCase();
    typedAt = e.timeStamp;
    const again = [...typed].every((c) => c === typed[0]), wanted = again ? typed[0] : typed, from = again ? at + 1 : at;
    const name = (one) => (one.dataset.name || one.textContent).trim().toLocaleLowerCase();
    return [...shown.slice(from), ...shown.slice(0, from)].find((one) => name(one).startsWith(wanted));
  };
  // Keyboard: up and down through the visible rows, right into a folder, left out of it, Shift-F10 for the
  // menu of the row.
  on("keydown", "[role=treeitem]", (e, row) => {
    if (e.target !== row || e.altKey || e.ctrlKey || e.metaKey || e.defaultPrevented) return; // with Alt: select.js
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
      case "ContextMenu": case "F10": {
        const menu = $("[data-menu]", row);
        if (!menu || e.key === "F10" && !e.shiftKey) return;
        menu.click();
        rowMenu.openedBy = row; // a dialog that the menu opens leads back to the row
        break;
      }
      default:
        if ([...e.key].length !== 1 || e.key === " " && !typing(e)) return;
        if (e.key.toLowerCase() === "m" && !typing(e) && row.matches(".documents .row[data-move]")) return; // below
        to = byName(e, shown, at);
    }
    e.preventDefault();
    if (!to) return;
    to.focus();
  });

  // The menu of a row: the same actions as on the record's own page.
  const rowMenu = $("#row-menu");
  on("keydown", "[data-menu]", (e, button) => { if (e.key === " ") { e.preventDefault(); button.click(); } });
  on("click", "[data-menu]", (e, button) => {
    if (e.metaKey || e.ctrlKey || e.shiftKey) return;
    e.preventDefault();
    const row = button.closest(".row"), { url, kind } = row.dataset, base = row.dataset.new;
    const suggests = "suggest" in row.dataset; // the person may not change it
    const items = suggests ? [["Suggest a document below", base + "/documents/suggest?below=" + row.dataset.id], ["Suggest an edit", url + "/suggest"],
      ["Suggest moving", url + "/suggest-move"], ["Suggest deleting", url + "/suggest-delete"]] : [["Edit", url + "/edit"]];
    const direct = !suggests && !("stays" in row.dataset); // stays: the person's restriction names it
    if (direct) items.push(["Move", kind === "document" ? base + "/selection/move?item=document:" + row.dataset.id : url + "/move"]);
    if (kind === "document" && !suggests) items.unshift(["New document below", base + "/documents/new?below=" + row.dataset.id]);
    if (kind.endsWith("-folder")) {
      if (row.dataset.depth < 3) items.unshift(["New folder here", base + "/folders/new?in=" + row.dataset.id]);
      if (kind === "project-folder") items.unshift(["New project here", base + "/projects/new?in=" + row.dataset.id]);
      else items.unshift(["New branding here", base + "/brandings/new?in=" + row.dataset.id]);
    }
    if (direct) items.push(["Delete", url + "/delete"]);
    rowMenu.replaceChildren(...items.map(([text, href]) => {
      const a = Object.assign(document.createElement("a"), { textContent: text, href });
      if (!/\/(brandings|documents)\/new|\/suggest($|\?)/.test(href) && !(text === "Edit" && (kind === "branding" || kind === "document"))) a.dataset.dialog = ""; // their editor needs the page
      if (/\/(suggest-)?delete$/.test(href)) a.className = "danger";
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

  // Dragging a project, branding or folder onto a folder, or a document to another place. The keyboard
  // has Move, and for documents the M key.
  let drag = null;
  sheaf.busy.push(() => drag);
  // moved returns the rows that move with a row: itself, or all that are selected.
  const moved = (row) => sheaf.chosen && sheaf.itemOf(row) && sheaf.chosen.has(sheaf.itemOf(row)) ? $$(".row", row.closest("ul.tree")).filter((one) => sheaf.chosen.has(sheaf.itemOf(one))) : [row];
  // At the edge of another row of its kind, the dragged row is put before or after that row. In the middle
  // of a folder, it is moved into the folder, and in the middle of a document below that.
  const spotAt = (x, y) => {
    const under = document.elementFromPoint(x, y), row = under && under.closest(".tree .row[data-move]");
    if (!row || !drag || !sheaf.itemOf || !sheaf.itemOf(row) || row.dataset.kind !== drag.row.dataset.kind) return null;
    const several = row.dataset.kind === "document" ? moved(drag.row) : [drag.row];
    if (several.some((one) => one.parentElement.contains(row))) return null;
    const box = row.getBoundingClientRect(), part = (y - box.top) / box.height, edge = row.dataset.kind === "project" ? .5 : .25;
    const inside = row.dataset.kind === "document" ? { row, side: "over" } : null;
    if (part < edge) return { row, side: "before" };
    if (part <= 1 - edge || row.ariaExpanded === "true") return inside;
    return !inside && row.parentElement.nextElementSibling?.matches(".rest") ? null : { row, side: "behind" };
  };
  const mark = (spot) => {
    for (const row of $$(".row.before, .row.behind, .row.over")) row.classList.remove("before", "behind", "over");
    if (spot) spot.row.classList.add(spot.side);
  };
  const putAt = async (row, { row: at, side }) => {
    if (row.dataset.kind === "document") {
      if (!await sheaf.put(moved(row), at, side) || side !== "over") return;
      if (document.getElementById("in-" + at.dataset.id)) await setOpen(at.dataset.id, true);
      else remember(documents, at.dataset.id, true);
      sheaf.refresh();
      return;
    }
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
    if (!row || e.button || e.pointerType === "touch" || e.target.closest("button, input, [data-menu]")) return;
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
      const several = drag.row.dataset.kind === "document" ? moved(drag.row).length : sheaf.chosen && sheaf.itemOf(drag.row) && sheaf.chosen.has(sheaf.itemOf(drag.row)) ? sheaf.chosen.size : 1;
      drag.ghost.append(several > 1 ? several + " selected" : drag.row.dataset.name);
      document.body.append(drag.ghost);
      document.body.classList.add("dragging");
      drag.row.classList.add("lifted");
    }
    drag.ghost.style.transform = `translate(${e.clientX + 10}px, ${e.clientY + 8}px)`;
    if (drag.row.dataset.kind === "document") scrollBy(0, e.clientY < 90 ? -14 : e.clientY > innerHeight - 50 ? 14 : 0);
    drag.spot = spotAt(e.clientX, e.clientY);
    const over = drag.spot ? null : targetAt(e.clientX, e.clientY);
    if (drag.over && over !== drag.over) drag.over.classList.remove("over");
    drag.over = over;
    mark(drag.spot);
    if (over) over.classList.add("over");
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
    // The click at the end of a drag opens nothing.
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
    if (done && !several) say(`Moved ${name} to ${to}.`);
    if (done && over.dataset.drop) await setOpen(over.dataset.drop, true);
    sheaf.refresh();
  };

  // Moving documents with the keyboard: M picks the row up, or all selected rows, the arrow keys choose a
  // place, Enter drops it there and Escape leaves it where it is. The message is read by screen readers.
  let carried = null;
  sheaf.busy.push(() => carried);
  // places returns the places of a level and of the open levels below it, from top to bottom.
  const places = (list, rows) => {
    const level = [...list.children].map((li) => li.firstElementChild).filter((row) => row.matches(".row") && !rows.includes(row)), out = [];
    for (const row of level) {
      const open = row.ariaExpanded === "true" ? places(row.nextElementSibling, rows) : [];
      out.push({ row, side: "before" }, ...(open.length ? open : [{ row, side: "over" }]));
    }
    if (level.length) out.push({ row: level.at(-1), side: "behind" });
    return out;
  };
  const above = (row) => { const li = row.parentElement.parentElement.closest("li"); return li && li.firstElementChild; };
  const depth = (spot) => Number(spot.row.ariaLevel) + (spot.side === "over");
  const named = ({ row, side }) => {
    if (side === "over") return `Below ${row.dataset.name}, as the last document there.`;
    const parent = above(row);
    return `${side === "before" ? "Before" : "After"} ${row.dataset.name}, ${parent ? "below " + parent.dataset.name : "on the first level of this tree"}.`;
  };
  const aim = (at) => {
    carried.at = Math.max(0, Math.min(at, carried.spots.length - 1));
    const spot = carried.spots[carried.at];
    mark(spot);
    spot.row.scrollIntoView({ block: "nearest" });
    say(named(spot));
  };
  const pickUp = (row) => {
    const rows = moved(row), spots = places(row.closest("ul.tree"), rows);
    if (!spots.length) { say("There is no other place on this page. To choose a place elsewhere, use Move."); return; }
    // It begins where the row is: before the next row that stays, or after the last one of the level, or
    // below a document that has no others.
    const rest = [...row.parentElement.parentElement.children].map((li) => li.firstElementChild).filter((one) => one.matches(".row") && (one === row || !rows.includes(one)));
    const here = rest.indexOf(row), next = rest[here + 1], last = rest[here - 1], parent = above(row);
    const start = spots.findIndex((spot) => next ? spot.row === next && spot.side === "before" : last ? spot.row === last && spot.side === "behind" : spot.row === parent && spot.side === "over");
    carried = { row, rows, spots, at: Math.max(0, start) };
    for (const one of rows) one.classList.add("carried");
    mark(spots[carried.at]);
    say(`${rows.length > 1 ? rows.length + " documents are" : row.dataset.name + " is"} picked up. Choose a place with the arrow keys, then press Enter. Escape cancels.`);
  };
  const putDown = (says) => {
    const { row, rows, spots, at } = carried;
    carried = null;
    mark(null);
    for (const one of rows) one.classList.remove("carried");
    row.focus();
    if (says) { say(says); sheaf.refreshLate(); } else putAt(row, spots[at]);
  };
  on("keydown", ".documents .row[data-move]", (e, row) => {
    if (e.target === row && !e.defaultPrevented && e.key.toLowerCase() === "m" && !e.altKey && !e.ctrlKey && !e.metaKey && !carried && sheaf.put) { e.preventDefault(); pickUp(row); }
  });
  addEventListener("keydown", async (e) => {
    if (!carried || e.altKey || e.ctrlKey || e.metaKey) return;
    e.stopPropagation();
    if (e.key !== "Tab") e.preventDefault();
    const { spots, at } = carried, spot = spots[at];
    switch (e.key) {
      case "ArrowDown": aim(at + 1); break;
      case "ArrowUp": aim(at - 1); break;
      case "Home": aim(0); break;
      case "End": aim(spots.length - 1); break;
      case "ArrowLeft": { // out of the level, to the place after it
        const out = spots.findIndex((one, i) => i > at && depth(one) < depth(spot));
        if (out >= 0) aim(out);
        break;
      }
      case "ArrowRight": // into a closed document, before the first one there
        if (spot.side === "behind" || spot.row.ariaExpanded !== "false") break;
        await setOpen(spot.row.dataset.id, true);
        if (!carried) return;
        carried.spots = places(carried.row.closest("ul.tree"), carried.rows);
        aim(carried.spots.findIndex((one) => above(one.row) === spot.row || one.row === spot.row && one.side === "over"));
        break;
      case "Enter": putDown(); break;
      case "Escape": case "Tab": putDown(carried.rows.length > 1 ? "They stay where they are." : `${carried.row.dataset.name} stays where it is.`); break;
    }
  }, true);
  addEventListener("pointerdown", () => { if (carried) putDown(carried.rows.length > 1 ? "They stay where they are." : `${carried.row.dataset.name} stays where it is.`); }, true);
})();
