// The case beside a list of results. Opening one adds to the history, so that Back closes it; the address names it, so
// that a link opens it.

import { takeWords } from "./app.js";
import { prepare } from "./case.js";

/**
 * @param {HTMLElement} drawer
 * @param {{address: (position: number) => string, rowOf: (position: number) => string, changed: () => void,
 *   closed: () => void, step: (way: number) => void, failed: (why: string) => void}} list what it asks of the list
 */
export function prepareDrawer(drawer, list) {
  const panel = drawer.querySelector(".drawer-body");
  let openAt = -1; // the position of its case

  /** Show a case; `isNew` if the address does not name it yet. @param {number} position @param {boolean} isNew */
  async function open(position, isNew = true) {
    const wasOpen = !drawer.hidden;
    openAt = position;
    const address = list.address(position);
    const tab = panel.querySelector('input[name="show"]:checked')?.id;
    const answer = await fetch(address).catch(() => null);
    const whole = answer?.ok && new DOMParser().parseFromString(await answer.text(), "text/html");
    const found = whole && whole.querySelector("article.case");
    if (openAt !== position) return; // another one was opened meanwhile, or none
    if (!found) {
      openAt = -1;
      list.failed("The case cannot be loaded: the server cannot be reached, or the run is gone.");
      return;
    }
    takeWords(whole);
    panel.replaceChildren(document.adoptNode(found));
    prepare(panel);
    const kept = tab && panel.querySelector(`#${tab}`);
    if (kept) kept.checked = true;
    document.getElementById("whole").href = address;
    document.getElementById("place").textContent = list.rowOf(position);
    drawer.hidden = false;
    panel.scrollTop = 0;
    if (isNew) history[wasOpen ? "replaceState" : "pushState"](null, "", withOpen(String(position)));
    list.changed();
    if (!drawer.contains(document.activeElement)) panel.focus();
  }

  function hide() {
    openAt = -1;
    drawer.hidden = true;
    list.changed();
  }

  function close() {
    hide();
    history.pushState(null, "", withOpen(""));
    list.closed();
  }

  /** Open or close what the address says: it was just loaded, or somebody went back. */
  function follow() {
    const position = new URLSearchParams(location.search).get("open") ?? "";
    if (/^\d{1,15}$/.test(position)) open(Number(position), false);
    else if (openAt >= 0) {
      hide();
      list.closed();
    }
  }

  drawer.addEventListener("click", (event) => {
    const button = event.target.closest("[data-step], [data-close]");
    if (button?.dataset.step) list.step(Number(button.dataset.step));
    else if (button) close();
  });
  return { open, hide, close, follow, focus: () => panel.focus(), get at() { return openAt; } };
}

/** Return the address of this list with a case open, or with none. @param {string} position @returns {string} */
function withOpen(position) {
  const query = new URLSearchParams(location.search);
  query.delete("open");
  if (position) query.set("open", position);
  return query.size ? `?${query}` : location.pathname;
}
