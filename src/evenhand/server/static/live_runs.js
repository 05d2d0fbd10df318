// Pages that show runs in progress: their figures change as they come, and when a run begins or ends, the parts of the page
// that depend on it are fetched from the server and put in place. So a filter never shows what does not match.

import { isWriting, takeWords } from "./app.js";
import { follow, say, sayAgain } from "./live.js";

const PAUSE = 2000; // milliseconds between two looks

let isLooking = false;
let looked = 0;

/** Put newer figures of a run into their places. @param {Element} place @param {Record<string, any>} run */
function write(place, { done, total, texts }) {
  for (const one of place.querySelectorAll("[data-live]")) {
    const name = one.dataset.live;
    if (one instanceof HTMLProgressElement) {
      one.max = total || 1;
      one.value = done;
    } else if (name in texts && one.textContent !== texts[name]) one.textContent = texts[name];
  }
}

/** Return whether somebody is in the middle of something that a new version would take away. */
const isBusy = () =>
  isWriting(document.activeElement?.closest("[data-fresh]") ? document.activeElement : null) ||
  Boolean(document.querySelector(":popover-open"));

/** Return how to find an element again in a newer version of the page. @param {Element | null} element @returns {string} */
function nameOf(element) {
  if (!element?.closest("[data-fresh]")) return "";
  const named = ["id", "href", "name", "value", "action"].filter((name) => element.hasAttribute(name));
  return named.length ? element.localName + named.map((name) => `[${name}="${CSS.escape(element.getAttribute(name))}"]`).join("") : "";
}

/** Take the parts of a newer version of the page. @param {Document} found */
function put(found) {
  const focused = nameOf(document.activeElement);
  const chosen = [...document.querySelectorAll("[data-fresh] :is([type=radio], [type=checkbox]):checked")].map(nameOf);
  const opened = [...document.querySelectorAll("[data-fresh] details[open] > summary")].map((one) => one.textContent);
  for (const old of document.querySelectorAll("[data-fresh]")) {
    const fresh = found.getElementById(old.id);
    if (fresh) old.replaceWith(document.adoptNode(fresh));
  }
  for (const name of chosen) {
    const box = document.querySelector(name);
    if (box instanceof HTMLInputElement) box.checked = true;
  }
  for (const one of document.querySelectorAll("[data-fresh] details > summary")) {
    if (opened.includes(one.textContent)) one.parentElement.open = true;
  }
  if (focused) document.querySelector(focused)?.focus({ preventScroll: true });
  takeWords(found);
  sayAgain();
  document.title = found.title;
}

/** Fetch the page again, without loading it. */
async function look() {
  if (isLooking || isBusy() || Date.now() - looked < PAUSE) return;
  isLooking = true;
  try {
    const answer = await fetch(location.href);
    if (answer.ok) put(new DOMParser().parseFromString(await answer.text(), "text/html"));
    else say(`The server answered with ${answer.status}; what is shown may be out of date.`);
  } catch {
    // The stream says whether the server is there; the next event leads here again.
  }
  looked = Date.now();
  isLooking = false;
  again();
}

/** Look again soon while the server works out numbers. */
function again() {
  if (document.querySelector("[data-reload]")) setTimeout(() => (document.querySelector("[data-fresh]") ? look() : location.reload()), PAUSE);
}

const live = document.querySelector("[data-live-at]");
const { title } = document;
if (live instanceof HTMLElement) {
  follow(live.dataset.liveAt ?? "", ({ state, runs }) => {
    for (const place of document.querySelectorAll("[data-run]")) {
      const run = runs[place.dataset.run];
      if (run) write(place, run);
    }
    const one = document.querySelector("section[data-run]");
    const run = one && runs[one.dataset.run];
    if (run) document.title = `${run.total ? Math.floor((100 * run.done) / run.total) : 0} % · ${title}`;
    const shown = document.getElementById("live");
    if (shown?.dataset.state !== state) look();
    return Boolean(shown?.dataset.liveAt); // a run that has ended needs no stream
  });
}
again();
