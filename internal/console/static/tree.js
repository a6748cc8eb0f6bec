// Runs right behind the tree, before it is painted: folds what the reader has
// folded.
window.foldTree = function () {
  let folded = [];
  try { folded = JSON.parse(localStorage.getItem("folded") || "[]"); } catch (_) {}
  for (const id of folded) {
    const list = document.getElementById("in-" + id);
    if (!list || list.querySelector("[aria-current]")) continue;
    list.hidden = true;
    const twist = document.querySelector(`[aria-controls="in-${CSS.escape(id)}"]`);
    if (twist) twist.setAttribute("aria-expanded", "false");
  }
  treeRoles();
};
// With scripts the lists are a tree, walked by the arrow keys (console.js): one of its rows is in the
// order of Tab, the present one or else the first.
const treeRoles = () => {
  for (const tree of document.querySelectorAll("#tree ul.tree")) {
    const rows = [...tree.querySelectorAll(".row")];
    if (!rows.length) continue;
    tree.role = "tree";
    tree.ariaLabel = tree.previousElementSibling.querySelector("h2").textContent.trim();
    for (const row of rows) {
      const item = row.parentElement, group = row.nextElementSibling;
      item.role = "none";
      row.role = "treeitem";
      row.ariaLabel = row.dataset.name;
      row.tabIndex = -1;
      for (const inner of row.querySelectorAll("a:not(.more), .twist")) inner.tabIndex = -1;
      const above = item.parentElement.closest("li");
      row.ariaLevel = String(above ? Number(above.firstElementChild.ariaLevel) + 1 : 1);
      if (!group || !group.childElementCount) continue;
      group.role = "group";
      row.ariaExpanded = String(!group.hidden);
    }
    (rows.find((row) => row.querySelector("[aria-current]")) || rows[0]).tabIndex = 0;
  }
};
window.foldTree();
