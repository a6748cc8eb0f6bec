// The editor of brandings: the frames show a sample page with the values of the form. Without this
// script the frames show the saved values.
(() => {
  "use strict";
  const form = document.getElementById("branding-editor"), samples = form.querySelector("[data-sample]");
  const fields = ["name", "color", "font", "logo", "footer"];
  const addressOf = (scheme) => {
    const values = new URLSearchParams();
    for (const name of fields) if (form.elements[name]) values.set(name, form.elements[name].value);
    values.set("scheme", scheme);
    return samples.dataset.sample + "?" + values;
  };

  // The next page loads behind the current one, so that the preview does not flicker.
  const preview = () => {
    for (const box of samples ? samples.querySelectorAll(".brand-frame") : []) {
      const shown = box.firstElementChild, address = addressOf(shown.dataset.scheme);
      if (box.dataset.asked === address) continue;
      box.dataset.asked = address;
      const next = shown.cloneNode();
      next.src = address;
      next.addEventListener("load", () => {
        if (box.dataset.asked !== address) { next.remove(); return; }
        next.contentWindow.scrollTo(0, shown.contentWindow.scrollY);
        for (const other of [...box.children]) if (other !== next) other.remove();
      });
      box.append(next);
    }
  };
  let pause;
  const soon = () => { clearTimeout(pause); pause = setTimeout(preview, 250); };
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
