// The editor of brandings: a preview that the server makes of what the form holds. Without this
// script the preview is that of what is saved.
(() => {
  "use strict";
  const form = document.getElementById("branding-editor"), box = form.querySelector("[data-looks]");
  const values = () => new URLSearchParams(new FormData(form)).toString();
  let pause, asking = false, shown = values();

  // The style sheet of a look is loaded before the page changes, so that nothing flashes.
  const loaded = (sheet) => new Promise((done) => {
    const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href: sheet, onload: done, onerror: done });
    document.head.append(link);
  });
  const preview = async () => {
    if (asking || shown === values()) return;
    asking = true;
    const asked = values();
    try {
      const answer = await fetch(form.dataset.preview, { method: "POST", body: new URLSearchParams(asked) });
      if (answer.ok && !answer.redirected) {
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        const fresh = page.querySelector(".looks"), sheet = page.querySelector("link[rel=stylesheet]");
        const old = [...document.querySelectorAll("link[data-look]")];
        if (sheet) {
          await loaded(sheet.getAttribute("href"));
          document.head.lastElementChild.dataset.look = "";
          for (const link of old) link.remove();
        }
        if (fresh) box.replaceChildren(document.adoptNode(fresh));
      }
    } catch (_) {} // the next change asks again
    shown = asked;
    asking = false;
    if (values() !== asked) soon();
  };
  const soon = () => { clearTimeout(pause); pause = setTimeout(preview, 150); };
  form.addEventListener("input", soon);
  form.addEventListener("change", soon);
})();
