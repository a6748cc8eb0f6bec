// Uploads by dropping, choosing or pasting files, each with its progress. Without this script a form
// sends one file at a time.
(() => {
  "use strict";
  // upload sends one file, and resolves to the card in the answer. It rejects with an error whose
  // message is for the person.
  const upload = (address, file, progress) => new Promise((done, failed) => {
    const to = new URL(address, location.href), x = new XMLHttpRequest();
    to.searchParams.set("filename", file.name || "picture.png");
    x.open("POST", to);
    x.setRequestHeader("HX-Request", "true");
    x.setRequestHeader("Content-Type", file.type || "application/octet-stream");
    x.upload.onprogress = (e) => { if (e.lengthComputable) progress(e.loaded / e.total); };
    x.onerror = () => failed(new Error("The server is not responding, and nothing was kept. Try again in a moment."));
    x.onload = () => {
      const page = new DOMParser().parseFromString(x.responseText, "text/html");
      const card = page.querySelector("[data-markdown]");
      if (x.status < 300 && card) { done(card); return; }
      const text = page.querySelector("main p:not(.brand), p");
      failed(new Error(x.status === 401 ? "Your session has ended: sign in again." : text ? text.textContent.trim() : "It was refused."));
    };
    x.send(file);
  });
  window.sheafUpload = upload;

  const form = document.getElementById("upload");
  if (!form) return;
  const field = form.elements.file, list = form.querySelector("[data-uploads]");
  field.multiple = true;
  form.querySelector("button").hidden = true; // choosing is enough
  const send = async (file) => {
    const item = document.createElement("li"), bar = document.createElement("progress"), said = document.createElement("span");
    said.textContent = file.name;
    bar.max = 1;
    bar.value = 0;
    bar.ariaLabel = "Upload of " + file.name;
    item.append(said, bar);
    list.append(item);
    try {
      const card = await upload(form.dataset.upload, file, (part) => { bar.value = part; });
      const grid = document.querySelector("[data-media]");
      if (!document.getElementById(card.id)) grid.prepend(document.adoptNode(card));
      const empty = document.querySelector("#media .empty");
      if (empty) empty.remove();
      htmx.process(grid);
      grid.dispatchEvent(new CustomEvent("sheaf:added", { bubbles: true }));
      item.remove();
    } catch (why) {
      bar.remove();
      item.className = "fault";
      said.textContent = file.name + " was not uploaded. " + why.message;
    }
  };
  // Files are sent one after the other, so that many of them use one connection.
  let turn = Promise.resolve();
  const all = (files) => { for (const file of files) turn = turn.then(() => send(file)); };
  field.addEventListener("change", () => { all([...field.files]); field.value = ""; });
  const brings = (e) => e.dataTransfer && [...e.dataTransfer.types].includes("Files");
  document.addEventListener("dragover", (e) => { if (brings(e)) { e.preventDefault(); form.classList.add("over"); } });
  document.addEventListener("dragleave", (e) => { if (!e.relatedTarget) form.classList.remove("over"); });
  document.addEventListener("drop", (e) => {
    if (!brings(e)) return;
    e.preventDefault();
    form.classList.remove("over");
    all([...e.dataTransfer.files]);
  });
})();
