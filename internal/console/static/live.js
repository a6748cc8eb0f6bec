// Live: the parts of a page with class "live" are loaded again after a change,
// unless the reader is using them. Only the differences are applied.
(() => {
  "use strict";
  const { $, $$, path, dialog, ended, signedOut } = sheaf;

  // Attributes that scripts and readers change, and that a new part does not have.
  const own = (el, name) =>
    name === "open" && el.localName === "details" ||
    name === "aria-expanded" && el.hasAttribute("data-fold") ||
    (name === "tabindex" || name === "aria-selected") && el.role === "treeitem" ||
    name === "aria-busy";

  const sameKind = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName && (a.id || "") === (b.id || "");

  // become makes a node equal to the new one and changes only the differences, so that focus, selection
  // and open elements stay. Elements with an id are found again wherever they are.
  const become = (old, fresh) => {
    if (old.isEqualNode(fresh)) return;
    if (old.nodeType !== Node.ELEMENT_NODE) { old.data = fresh.data; return; }
    for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name) && !own(old, name)) old.removeAttribute(name);
    for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value && !own(old, name)) old.setAttribute(name, value);
    becomeChildren(old, fresh);
  };
  const becomeChildren = (old, fresh) => {
    const stay = new Set([...fresh.children].map((child) => child.id).filter(Boolean));
    const known = new Map([...old.children].filter((child) => child.id).map((child) => [child.id, child]));
    let at = old.firstChild;
    const gone = () => { const next = at.nextSibling; at.remove(); at = next; };
    for (const child of [...fresh.childNodes]) {
      while (at && at.id && !stay.has(at.id)) gone();
      const found = child.id ? known.get(child.id) : at && sameKind(at, child) ? at : null;
      if (!found || !sameKind(found, child)) { old.insertBefore(document.adoptNode(child), at); continue; }
      if (found === at) at = at.nextSibling;
      else old.insertBefore(found, at);
      become(found, child);
    }
    while (at) gone();
  };

  // freshen is become for a part of the page. It keeps the scroll position and the focus.
  const freshen = (part, fresh) => {
    for (const dress of sheaf.dress) dress(fresh);
    const at = part.contains(document.activeElement) ? document.activeElement : null, again = at && path(at);
    become(part, fresh);
    if ($("[hx-post]", part)) htmx.process(part);
    const back = at && document.activeElement !== at && (at.isConnected ? at : again && $(again, part));
    if (back) back.focus({ preventScroll: true });
    part.dispatchEvent(new CustomEvent("sheaf:fresh", { bubbles: true }));
  };

  const signs = ["events", "deliveries", "minutes"];
  let late = null, latest = 0, later, asks = 0, touches = 0;
  const busy = () => sheaf.busy.some((is) => is());
  const follows = (part, kinds) => kinds.some((kind) => (part.dataset.livePart || "events").split(" ").includes(kind));
  const refresh = async (kinds = signs, now = false) => {
    const parts = () => $$(".live[id]").filter((part) => follows(part, kinds));
    if (!parts().length) return;
    if (busy()) { late = kinds; return; }
    // The page is loaded at most once a second.
    const wait = now ? 0 : latest + 1000 - Date.now();
    if (wait > 0) { clearTimeout(later); later = setTimeout(() => refresh(), wait); return; }
    latest = Date.now();
    late = null;
    const asked = ++asks, touched = touches, text = await read();
    if (text === null || asked !== asks) return; // a later answer is on its way
    if (touched !== touches) { refresh(kinds, true); return; }
    if (ended) ended.hidden = true;
    const page = new DOMParser().parseFromString(text, "text/html");
    if (busy()) { late = kinds; return; }
    for (const part of parts()) {
      const fresh = page.getElementById(part.id);
      if (fresh) freshen(part, fresh);
    }
  };
  // read returns the current page, or null if that fails: the page is loaded again when the stream
  // reconnects.
  const read = async () => {
    const address = new URL(location.href);
    for (const [name, value] of sheaf.once) address.searchParams.set(name, value);
    try {
      const answer = await fetch(address, { headers: { Accept: "text/html", "Sheaf-Closed": [...sheaf.closed].join(".") } });
      return answer.redirected || !answer.ok ? null : await answer.text();
    } catch (_) {
      return null;
    }
  };
  sheaf.closed = new Set(); // folders of the tree that the reader has closed on this page
  // An answer to an earlier request does not know what the reader has just opened or closed.
  sheaf.touched = () => { touches++; };
  sheaf.refresh = () => refresh(signs, true);
  sheaf.refreshLate = () => { if (late) refresh(late); };
  dialog.addEventListener("close", sheaf.refreshLate);
  document.addEventListener("toggle", (e) => { if (e.newState === "closed") sheaf.refreshLate(); }, true);

  if (!document.body.dataset.live || !$(".live")) return;
  let stream;
  const listen = () => {
    if (stream) return;
    stream = new EventSource(document.body.dataset.live);
    for (const kind of signs) stream.addEventListener(kind, () => refresh([kind]));
    stream.addEventListener("signed-out", () => { quiet(); signedOut(); });
    stream.addEventListener("anew", () => { quiet(); location.reload(); }); // the person sees another part of the workspace now
    // After a reconnection there may be many changes.
    let broken = false;
    stream.addEventListener("error", () => { broken = true; });
    stream.addEventListener("open", () => { if (broken) refresh(); broken = false; });
  };
  const quiet = () => { if (stream) { stream.close(); stream = null; } };
  // A hidden page keeps no connection, because a browser opens only six to one site.
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") { listen(); refresh(); }
    else quiet();
  });
  addEventListener("pagehide", quiet);
  if (document.visibilityState === "visible") listen();
})();
