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
};
window.foldTree();
