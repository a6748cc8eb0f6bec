// The editor of brandings: the server previews the values of the form. Without this script the
// preview shows the saved values.
(() => {
  "use strict";
  const form = document.getElementById("branding-editor"), box = form.querySelector("[data-brand-pages]");
  const values = () => new URLSearchParams(new FormData(form)).toString();
  let pause, asking = false, shown = values();

  // The style sheet of the preview is loaded before the page changes, so that nothing flashes.
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
        const fresh = page.querySelector(".brand-pages"), sheet = page.querySelector("link[rel=stylesheet]");
        const old = [...document.querySelectorAll("link[data-brand-style]")];
        if (sheet) {
          await loaded(sheet.getAttribute("href"));
          document.head.lastElementChild.dataset.brandStyle = "";
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
  // An uploaded picture becomes the chosen logo.
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
        if (!picture) throw new Error("The file is in the library, but it cannot be a logo: it is not a picture.");
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
