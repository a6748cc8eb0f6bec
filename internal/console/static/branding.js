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
  // A picture that is uploaded becomes a choice, and is chosen.
  const logos = form.querySelector("[data-logos]"), field = form.querySelector("[data-logo-upload]");
  if (field && window.sheafUpload) {
    const file = field.querySelector("input"), fault = form.querySelector("[data-logo-fault]");
    field.hidden = false;
    file.addEventListener("change", async () => {
      if (!file.files.length) return;
      const name = file.files[0].name;
      fault.hidden = true;
      file.disabled = true;
      try {
        const card = await window.sheafUpload(field.dataset.logoUpload, file.files[0], () => {});
        const picture = card.querySelector("img"), label = document.createElement("label"), choice = document.createElement("input");
        if (!picture) throw new Error("It is in the library, but is no picture that can be a logo.");
        Object.assign(choice, { type: "radio", name: "logo", value: card.id.replace("medium-", ""), checked: true });
        label.title = name;
        label.append(choice, Object.assign(document.createElement("img"), { src: picture.getAttribute("src"), alt: name }));
        logos.querySelector("label").after(label);
        choice.focus();
        soon();
      } catch (why) {
        fault.textContent = name + " was not taken. " + why.message;
        fault.hidden = false;
      }
      file.value = "";
      file.disabled = false;
    });
  }
  form.addEventListener("input", soon);
  form.addEventListener("change", soon);
})();
