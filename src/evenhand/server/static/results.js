// The table of results, however long: only visible rows are drawn, and further pages are loaded
// while scrolling. The filter is in the address. Without this script, the page has links.

import { asSent, isWriting } from "./app.js";
import { prepare } from "./case.js";
import { prepareColumns } from "./results_columns.js";
import { rowOf } from "./results_row.js";

const PAGE = 200;
const AHEAD = 45; // rows before the end at which more are asked for
const AROUND = 12; // rows drawn above and below what can be seen
const PAUSE = 150; // milliseconds, while somebody types

/** @typedef {{position: number, node: HTMLTableRowElement | null, item: Record<string, any> | null}} Row */

const $ = (/** @type {string} */ id) => document.getElementById(id);
const [table, scroll, form, drawer, shown] = ["results", "scroll", "filter", "drawer", "shown"].map($);

if (table instanceof HTMLTableElement) start(table);

function spacer() {
  const row = document.createElement("tr");
  row.className = "spacer";
  row.ariaHidden = "true";
  return row;
}

/** @param {HTMLTableElement} table */
function start(table) {
  const body = table.tBodies[0];
  const columns = (table.dataset.columns ?? "").split(" ").filter(Boolean);
  const scale = Number(table.dataset.scale); // up to what scores go, 0 where there are none
  const panel = drawer.querySelector(".drawer-body");
  const [above, below] = [spacer(), spacer()];
  /** @type {Row[]} */
  let rows = [...body.rows].map((node) => ({ node, item: null, position: Number(node.querySelector("a").pathname.split("/").pop()) }));
  let total = Number(table.dataset.total);
  let next = table.dataset.next ?? "";
  let current = 0; // the row that has the focus, or had it last
  let open = -1; // the row whose case is in the drawer, if it is among the rows
  let openAt = -1; // the position of that case
  let seen = [0, 0]; // the rows that are drawn, from and up to
  let loading = false;
  let asking = new AbortController();
  const said = new URLSearchParams(location.search);
  const sort = { by: said.get("sort") || "position", descending: said.has("descending") };
  const height = body.rows[0]?.getBoundingClientRect().height || 31;

  // What is wanted

  /** Return the query of form and headings. @param {HTMLFormElement} from @returns {URLSearchParams} */
  function wanted(from = form) {
    const found = new URLSearchParams();
    for (const [name, value] of new FormData(from)) {
      if (String(value).trim() && !["sort", "descending", "column"].includes(name)) found.append(name, String(value));
    }
    if (sort.by !== "position") found.set("sort", sort.by);
    if (sort.descending) found.set("descending", "1");
    return found;
  }

  /** Keep in the address what is shown. */
  function remember() {
    const found = wanted();
    for (const link of document.querySelectorAll("[data-export]")) link.href = `${location.pathname}/export.${link.dataset.export}?${found}`;
    for (const name of said.getAll("column")) found.append("column", name);
    if (openAt >= 0) found.set("open", String(openAt));
    history.replaceState(null, "", found.size ? `?${found}` : location.pathname);
  }

  /** Ask for a page of rows. @param {string} cursor @returns {Promise<Record<string, any>>} */
  async function page(cursor) {
    const query = wanted();
    // An error is recorded as a fail, but is not a verdict.
    if (query.has("verdict") && !query.has("status")) query.set("status", "scored");
    for (const name of ["min_score", "max_score"]) if (query.has(name)) query.set(name, String(Number(query.get(name)) / (scale || 1)));
    query.set("limit", String(PAGE));
    if (cursor) query.set("cursor", cursor);
    const answer = await fetch(`${table.dataset.api}?${query}`, { signal: asking.signal });
    const body = await answer.json();
    if (!answer.ok) throw new Error(body.errors?.[0] ? `${body.errors[0].field}: ${body.errors[0].detail}` : body.title);
    return body;
  }

  /** Show other rows: what is wanted has changed. */
  async function renew() {
    asking.abort();
    [asking, next] = [new AbortController(), ""]; // no more of the rows that are about to go
    close(false);
    remember();
    try {
      const body = await page("");
      rows = [];
      loading = false;
      current = 0;
      take(body);
      scroll.scrollTop = 0;
      draw();
    } catch (error) {
      if (error.name !== "AbortError") shown.textContent = error.message;
    }
  }

  /** Ask for the rows after the last, if there are any. */
  async function more() {
    if (loading || !next) return;
    loading = true;
    try {
      take(await page(next));
      draw();
    } catch (error) {
      if (error.name !== "AbortError") shown.textContent = `${error.message}; scroll to try again`;
    } finally {
      loading = false;
    }
  }

  /** @param {Record<string, any>} body a page of the API */
  function take(body) {
    rows.push(...body.items.map((item) => ({ item, node: null, position: item.position })));
    ({ total } = body);
    next = body.next ?? "";
    const word = total === 1 ? "evaluation" : "evaluations";
    const some = [...wanted().keys()].some((name) => name !== "sort" && name !== "descending");
    shown.textContent = total ? `${total.toLocaleString("en")} ${word}${some ? " match" : ""}` : "No matches";
    table.setAttribute("aria-rowcount", String(total + 1));
    $("nothing").hidden = total > 0;
  }

  // Drawing

  /** @param {number} index */
  function drawn(index) {
    const row = rows[index];
    const node = row.node ?? rowOf(row.item, columns, scale);
    row.node = node;
    node.setAttribute("aria-rowindex", String(index + 2));
    node.tabIndex = index === current ? 0 : -1;
    node.ariaSelected = index === open ? "true" : null;
    for (const link of node.querySelectorAll("a")) link.tabIndex = -1;
    return node;
  }

  /** Draw the rows that can be seen, and a few around them. */
  function draw() {
    const first = Math.max(Math.floor(scroll.scrollTop / height) - AROUND, 0);
    const last = Math.min(Math.ceil((scroll.scrollTop + scroll.clientHeight) / height) + AROUND, rows.length);
    const nodes = rows.slice(first, last).map((_, place) => drawn(first + place));
    const stays = new Set([above, below, ...nodes]);
    // What is removed while it has the focus takes the place that was scrolled to with it.
    const had = document.activeElement?.closest("#results tbody tr");
    if (had && !stays.has(had)) scroll.focus({ preventScroll: true });
    above.style.height = `${first * height}px`;
    below.style.height = `${Math.max(rows.length - last, 0) * height}px`;
    for (const node of [...body.rows]) if (!stays.has(node)) node.remove();
    nodes.reduce((before, node) => {
      if (before.nextSibling !== node) before.after(node);
      return node;
    }, above);
    // Rows that are out of sight are forgotten, and made again when they are needed.
    for (let index = seen[0]; index < Math.min(seen[1], rows.length); index += 1) {
      if (rows[index].item && (index < first || index >= last)) rows[index].node = null;
    }
    seen = [first, last];
    if (last + AHEAD >= rows.length) more();
  }

  /** Let a row have the focus. @param {number} index */
  function go(index) {
    if (!rows.length) return;
    current = Math.min(Math.max(index, 0), rows.length - 1);
    const head = table.tHead.getBoundingClientRect().height;
    const top = current * height;
    if (top < scroll.scrollTop) scroll.scrollTop = top;
    else if (top + height + head > scroll.scrollTop + scroll.clientHeight) scroll.scrollTop = top + height + head - scroll.clientHeight;
    draw();
    rows[current].node?.focus({ preventScroll: true });
  }

  // The drawer

  /** @param {number} index the row to show, -1 where the address names one that is not loaded @param {number} position */
  async function show(index, position = rows[index].position) {
    [open, openAt] = [index, position];
    if (index >= 0) current = index;
    const address = `${location.pathname}/${position}`;
    const tab = panel.querySelector('input[name="show"]:checked')?.id;
    const answer = await fetch(address);
    const found = answer.ok && new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("article.case");
    if (!found || openAt !== position) return;
    panel.replaceChildren(document.adoptNode(found));
    prepare(panel);
    if (tab) panel.querySelector(`#${tab}`).checked = true;
    $("whole").href = address;
    $("place").textContent = index < 0 ? "" : `${(index + 1).toLocaleString("en")} of ${total.toLocaleString("en")}`;
    drawer.hidden = false;
    panel.scrollTop = 0;
    remember();
    draw();
    if (!drawer.contains(document.activeElement)) panel.focus();
  }

  /** @param {boolean} back whether the row gets the focus again */
  function close(back = true) {
    [open, openAt] = [-1, -1]; // also where the case is still on its way
    if (drawer.hidden) return;
    drawer.hidden = true;
    remember();
    if (back) go(current);
  }

  /** Go to the next case, or the one before: several rows may be about one. @param {number} way */
  function step(way) {
    let index = Math.max(open, 0);
    while (rows[index + way] && rows[index + way].position === rows[index].position) index += way;
    if (!rows[index + way]) return;
    go(index + way);
    show(index + way);
    panel.focus();
  }

  // Keys and clicks

  /** @param {KeyboardEvent} event */
  function pressed(event) {
    const target = event.target instanceof Element ? event.target : document.body;
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.key === "Escape" && !drawer.hidden) return close();
    if (isWriting(target)) return;
    if (!drawer.hidden && (event.key === "j" || event.key === "k")) return step(event.key === "j" ? 1 : -1);
    const inTable = scroll.contains(target) || target === document.body;
    const leap = Math.max(Math.floor(scroll.clientHeight / height) - 2, 1);
    const ways = {
      ArrowDown: current + 1, ArrowUp: current - 1, PageDown: current + leap, PageUp: current - leap, Home: 0,
      End: rows.length - 1, j: current + 1, k: current - 1,
    };
    if (inTable && !target.closest("thead") && event.key in ways) {
      event.preventDefault();
      go(ways[event.key]);
    } else if (event.key === "Enter" && target.closest("#results tbody tr")) {
      event.preventDefault();
      show(current);
    }
  }

  let pause = 0;
  const soon = () => {
    clearTimeout(pause);
    pause = setTimeout(renew, PAUSE);
  };
  form.addEventListener("input", soon);
  prepareColumns(wanted);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    soon();
  });
  table.tHead.addEventListener("click", (event) => {
    const link = event.target.closest("[data-sort]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const again = sort.by === link.dataset.sort;
    Object.assign(sort, again && sort.descending ? { by: "position", descending: false } : { by: link.dataset.sort, descending: again });
    for (const head of table.tHead.rows[0].cells) {
      if (sort.by === head.firstElementChild?.dataset.sort) head.setAttribute("aria-sort", sort.descending ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
    renew();
  });
  body.addEventListener("click", (event) => {
    const node = event.target.closest("tr");
    const index = rows.findIndex((row) => row.node === node);
    if (index < 0 || event.ctrlKey || event.metaKey || event.shiftKey || String(getSelection())) return;
    event.preventDefault();
    go(index);
    show(index);
  });
  drawer.addEventListener("click", (event) => {
    const button = event.target.closest("[data-step], [data-close]");
    if (button?.dataset.step) step(Number(button.dataset.step));
    else if (button) close();
  });
  document.addEventListener("keydown", pressed);
  scroll.addEventListener("scroll", () => requestAnimationFrame(draw), { passive: true });
  addEventListener("resize", draw);

  body.prepend(above);
  body.append(below);
  scroll.classList.add("virtual");
  scroll.tabIndex = -1;
  table.setAttribute("role", "grid");
  table.setAttribute("aria-rowcount", String(total + 1));
  $("pager").hidden = $("apply").hidden = true;
  (said.has("cursor") ? renew : draw)();
  if (String(wanted()) !== String(wanted(asSent(form)))) soon(); // somebody was quicker than this script
  if (/^\d+$/.test(said.get("open") ?? "")) {
    const position = Number(said.get("open"));
    show(rows.findIndex((row) => row.position === position), position);
  }
}
