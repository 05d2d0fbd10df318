// Lists of results: the filter applies as one types, keys move through the rows and from page to page, and a case opens
// beside the list. The server renders every list; this script fetches it and puts it in place. What is shown is in the
// address, so that Back and Forward work. Without this script the page has links.

import { asSent, isWriting, takeWords } from "./app.js";
import { prepareColumns } from "./results_columns.js";
import { prepareDrawer } from "./results_drawer.js";
import { follow } from "./live.js";
import { prepareWidths } from "./results_widths.js";

const PAUSE = 150; // milliseconds, while somebody types
const GROW = 2000; // milliseconds between two looks at a run in progress
const YEAR = 365 * 24 * 3600;
const KEPT = ["column", "lines"]; // what this browser remembers, and addresses need not say
const TITLE = "tbody th > a:first-child";
const AWAY = "The server cannot be reached; what is shown may be out of date.";

const form = document.getElementById("filter");
const place = document.getElementById("drawer");
if (form instanceof HTMLFormElement && place) start(form, place);

/** Return the part of an address that says which list it is. @param {string} address @returns {string} */
function listAt(address) {
  const url = new URL(address, location.href);
  url.searchParams.delete("open");
  return url.pathname + url.search;
}

/** Look again when something was added to a run in progress, and at its end. @param {string} address @param {() => void} look */
function grow(address, look) {
  let last = "";
  let due = 0;
  follow(address, ({ state, runs }) => {
    const now = state + Object.values(runs).map((run) => ` ${run.done}`).join("");
    if (now !== last && !(due && state)) {
      clearTimeout(due);
      due = setTimeout(() => {
        due = 0;
        look();
      }, state ? GROW : 0);
    }
    last = now;
    return Boolean(state);
  });
}

/** @param {HTMLFormElement} form @param {HTMLElement} place */
function start(form, place) {
  let listing = document.getElementById("listing");
  let shown = listAt(location.href);
  let fetching = new AbortController();
  let current = 0; // the row that has the focus, or had it last

  const rows = () => [...listing.querySelectorAll("tbody tr")];
  // The title of a row leads to its case, by the position of that.
  const positionOf = (/** @type {HTMLElement | undefined} */ row) => Number(row?.querySelector(TITLE)?.pathname.split("/").pop() ?? -1);
  // The row of a case; one with several targets has a case for each.
  const rowAt = (/** @type {number} */ position) => rows().findIndex((row) => positionOf(row) === position || row.querySelector(`.opens[href$="/${position}"]`));

  // The list

  /** Return the address of the list that the form asks for. @param {HTMLFormElement} from @returns {string} */
  function wanted(from = form) {
    const query = new URLSearchParams();
    for (const [name, value] of new FormData(from)) {
      if (String(value).trim() && !KEPT.includes(name)) query.append(name, String(value));
    }
    for (const name of new URLSearchParams(location.search).getAll("column")) query.append("column", name);
    return query.size ? `${form.action}?${query}` : form.action;
  }

  /** Show the list at an address in place of this one; return whether it came.
   * @param {string} address @param {"pushState" | "replaceState" | null} how the address is kept @returns {Promise<boolean>} */
  async function load(address, how) {
    fetching.abort();
    fetching = new AbortController();
    listing.ariaBusy = "true";
    try {
      const answer = await fetch(address, { signal: fetching.signal });
      const found = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = found.getElementById("listing");
      if (!fresh) throw new Error(found.querySelector(".detail")?.textContent?.trim() || `The server answered with ${answer.status}.`);
      takeWords(found);
      put(document.adoptNode(fresh));
      shown = listAt(address);
      if (how) history[how](null, "", address);
      return true;
    } catch (error) {
      if (error.name !== "AbortError") say(error instanceof TypeError ? AWAY : error.message);
      return false;
    }
  }

  /** @param {HTMLElement} fresh the list to show */
  function put(fresh) {
    const had = document.activeElement?.closest("#listing tbody tr");
    const focused = had ? positionOf(had) : -1;
    listing.replaceWith(fresh);
    listing = fresh;
    ready();
    if (focused >= 0 && rowAt(focused) >= 0) go(rowAt(focused));
    else if (had) go(current);
  }

  /** Say what is wrong, above a list that is no longer what was asked for. @param {string} text */
  function say(text) {
    listing.ariaBusy = null;
    listing.classList.add("stale");
    listing.querySelector("#shown").textContent = text;
  }

  /** Make the rows work: one of them can be reached with the Tab key, and that of the open case is marked. */
  function ready() {
    const all = rows();
    current = Math.min(current, Math.max(all.length - 1, 0));
    const open = rowAt(drawer.at);
    all.forEach((row, index) => {
      row.tabIndex = index === current ? 0 : -1;
      row.ariaSelected = index === open ? "true" : null;
    });
    if (!listing.querySelector(".grip")) prepareWidths(listing);
  }

  /** Give a row the focus. @param {number} index */
  function go(index) {
    const all = rows();
    if (!all.length) return;
    current = Math.min(Math.max(index, 0), all.length - 1);
    ready();
    all[current].focus({ preventScroll: true });
    all[current].scrollIntoView({ block: "nearest" });
  }

  /** Go to the first or last row of another page; return whether there is one. @param {string} rel @param {boolean} toLast */
  async function turn(rel, toLast) {
    const to = listing.querySelector(`.pager a[rel="${rel}"]`);
    if (!(to instanceof HTMLAnchorElement) || !(await load(to.href, "pushState"))) return false;
    go(toLast ? rows().length - 1 : 0);
    return true;
  }

  /** Go so many rows on, onto the next page if need be. @param {number} way @returns {Promise<boolean>} */
  async function step(way) {
    const index = current + way;
    if (index < 0) return turn("prev", true);
    if (index >= rows().length) return turn("next", false);
    go(index);
    return true;
  }

  // The case beside it

  const drawer = prepareDrawer(place, {
    address: (position) => `${form.action.replace(/\/[^/]*$/, "")}/results/${position}`,
    rowOf: (position) => {
      const first = Number(listing.dataset.first);
      return rowAt(position) < 0 ? "" : `${(first + rowAt(position) + 1).toLocaleString("en")} of ${Number(listing.dataset.total).toLocaleString("en")}`;
    },
    changed: ready,
    closed: () => go(current),
    step: stepOpen,
    failed: say,
  });

  /** Open the next case or the one before; from one that is not on this page, its neighbour. @param {number} way */
  async function stepOpen(way) {
    const here = rowAt(drawer.at);
    if (here < 0) return drawer.open(Math.max(drawer.at + way, 0));
    current = here;
    do if (!(await step(way))) return;
    while (positionOf(rows()[current]) === drawer.at); // several rows may be about one case
    await drawer.open(positionOf(rows()[current]));
    drawer.focus();
  }

  // Keys and clicks

  /** @param {KeyboardEvent} event */
  function pressed(event) {
    const target = event.target instanceof Element ? event.target : document.body;
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open], :popover-open")) return;
    if (event.key === "Escape" && drawer.at >= 0) return drawer.close();
    const fromSearch = target.id === "text" && event.key === "ArrowDown";
    if (isWriting(target) && !fromSearch) return;
    if (drawer.at >= 0 && (event.key === "j" || event.key === "k")) return stepOpen(event.key === "j" ? 1 : -1);
    const row = target.closest("#listing tbody tr");
    const isLetter = event.key === "j" || event.key === "k"; // other keys mean something to links, boxes and buttons
    if (!row && target !== document.body && !fromSearch && !isLetter) return;
    const leap = Math.max(Math.floor(innerHeight / (rows()[0]?.offsetHeight || 30)) - 2, 1);
    const ways = {
      ArrowDown: () => (fromSearch ? go(0) : step(row ? 1 : 0)), ArrowUp: () => step(-1), j: () => step(row ? 1 : 0), k: () => step(-1),
      PageDown: () => go(current + leap), PageUp: () => go(current - leap),
      Home: async () => (await turn("first", false)) || go(0), End: async () => (await turn("last", true)) || go(rows().length - 1),
    };
    if (event.key in ways) {
      event.preventDefault();
      ways[event.key]();
    } else if (event.key === "Enter" && target === row) drawer.open(positionOf(row));
  }

  let pause = 0;
  const soon = () => {
    clearTimeout(pause);
    listing.ariaBusy = "true";
    pause = setTimeout(() => {
      if (drawer.at >= 0) drawer.hide();
      current = 0;
      load(wanted(), "replaceState");
    }, PAUSE);
  };
  form.addEventListener("input", soon);
  document.getElementById("lines")?.addEventListener("change", (event) => {
    document.cookie = `evenhand-lines=${event.target.value}; path=/runs; max-age=${YEAR}; samesite=strict`;
    soon();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    soon();
  });
  document.addEventListener("click", (event) => {
    const target = event.target instanceof Element ? event.target : document.body;
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button || !listing.contains(target)) return;
    const to = target.closest("a");
    if (to?.matches(".pager a, [data-sort]")) {
      event.preventDefault();
      load(to.href, "pushState");
      return;
    }
    const index = rows().indexOf(target.closest("tbody tr"));
    if (index < 0 || (to && !to.matches(`${TITLE}, .opens`)) || String(getSelection())) return;
    event.preventDefault();
    go(index);
    drawer.open(to?.matches(".opens") ? Number(to.pathname.split("/").pop()) : positionOf(rows()[index]));
  });
  document.addEventListener("keydown", pressed);
  document.addEventListener("focusin", (event) => {
    const index = rows().indexOf(event.target);
    if (index < 0 || index === current) return;
    current = index;
    ready();
  });
  addEventListener("popstate", async () => {
    if (listAt(location.href) !== shown) await load(location.href, null);
    drawer.follow();
  });

  if (listing.dataset.liveAt) grow(listing.dataset.liveAt, () => load(location.href, null));
  if (document.getElementById("columns")) prepareColumns(() => new URL(wanted(), location.href).searchParams);
  document.getElementById("apply").hidden = true;
  ready();
  if (wanted() !== wanted(asSent(form))) soon(); // somebody was quicker than this script
  drawer.follow();
}
