// The page of a proposal: j and k lead from change to change, a approves, and a note says when the
// proposal was changed meanwhile.
(() => {
  "use strict";
  const { $, $$, busy } = sheaf;
  const changes = () => $$("[data-change]");
  const step = (by) => {
    const all = changes(), at = all.findIndex((c) => c.contains(document.activeElement));
    const to = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + by, 0), all.length - 1)];
    if (!to) return;
    to.focus({ preventScroll: true });
    to.scrollIntoView({ block: "start" });
  };
  document.addEventListener("keydown", (e) => {
    if (e.metaKey || e.ctrlKey || e.altKey || e.shiftKey || e.repeat && e.key === "a") return;
    if (e.target.closest("input, textarea, select, [contenteditable]") || busy.some((is) => is())) return;
    const button = $("[data-approve] button");
    if (e.key === "j") step(1);
    else if (e.key === "k") step(-1);
    else if (e.key === "a" && button) button.form.requestSubmit(button);
    else return;
    e.preventDefault();
  });

  const read = $("#proposal-now").dataset.now;
  document.addEventListener("sheaf:fresh", (e) => {
    if (e.target.id === "proposal-now" && e.target.dataset.now !== read) $("[data-outdated]").hidden = false;
  });
})();
