// All about one case: copying it as JSON, and going to the next or previous one, on its own page and in the drawer.

import { isWriting } from "./app.js";

/** Make the buttons within an element work. @param {Element} root */
export function prepare(root) {
  for (const button of root.querySelectorAll("[data-copy-from]")) {
    if (!(button instanceof HTMLButtonElement) || !navigator.clipboard) continue;
    button.hidden = false;
    button.addEventListener("click", () => copy(button));
  }
}

/** @param {HTMLButtonElement} button */
async function copy(button) {
  const said = (button.dataset.said ??= button.textContent); // before the first of several clicks
  try {
    const answer = await fetch(button.dataset.copyFrom ?? "");
    if (!answer.ok) throw new Error(String(answer.status));
    await navigator.clipboard.writeText(JSON.stringify(await answer.json(), null, 2));
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not copied";
  }
  setTimeout(() => { button.textContent = said; }, 1500);
}

const page = document.querySelector("main > article.case");
if (page) {
  prepare(page);
  document.addEventListener("keydown", (event) => {
    const target = event.target instanceof Element ? event.target : null;
    if (event.ctrlKey || event.metaKey || event.altKey || isWriting(target) || document.querySelector("dialog[open]")) return;
    const way = { j: "next", k: "prev" }[event.key];
    const link = way && page.querySelector(`a[rel="${way}"]`);
    if (link instanceof HTMLAnchorElement) link.click();
  });
}
