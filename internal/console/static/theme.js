// Runs before the page is painted: the reader's choice of light or dark, and whether the editor will say that it restored a
// draft, so that there is room for it.
try {
  const chosen = localStorage.getItem("theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  const [, workspace, document_] = /\/w\/([^/]+)\/documents\/([^/]+)/.exec(location.pathname) || [];
  if (document_ && Object.keys(localStorage).some((name) => name.startsWith("draft ") && name.includes(` ${workspace} ${document_} `)))
    document.documentElement.dataset.draft = "";
} catch (_) {}
