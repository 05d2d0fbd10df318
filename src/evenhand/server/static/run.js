// A run while it goes on: the server tells twice a second how it gets on, and the page is loaded anew when it ends.

import { counted, dollars, duration, NONE } from "./numbers.js";

const AT_WORK = ["planning", "running"];
const PAUSE = 2000; // milliseconds between two questions, where nothing is told unasked
const AWAY = "The server cannot be reached; retrying.";

const live = document.querySelector("[data-events]");
/** @param {string} name @param {string} said */
const write = (name, said) => {
  const place = live?.querySelector(`[data-live="${name}"]`);
  if (place && place.textContent !== said) place.textContent = said;
};

/** @param {number | null} given evaluations a second @returns {string} */
function rate(given) {
  if (!given) return NONE;
  return given >= 0.95 ? `${given.toFixed(1)} per second` : `${(60 * given).toFixed(1)} per minute`;
}

/** @param {Record<string, any>} told how the run gets on */
function show(told) {
  const bar = live.querySelector('[data-live="bar"]');
  bar.max = told.total || 1;
  bar.value = told.done;
  const more = told.waiting ? ", queued" : told.stopping ? ", stopping" : told.paused ? ", paused" : "";
  write("title", `${counted(told.done)} of ${counted(told.total)} evaluation${told.total === 1 ? "" : "s"}${more}`);
  write("rate", rate(told.rate));
  write("eta", duration(told.eta));
  for (const name of ["errors", "retries", "calls", "cached"]) write(name, counted(told[name]));
  write("cost", told.calls === null ? NONE : dollars(told.cost));
  write("paused", told.paused);
  write("note", "Live: this page updates by itself.");
  document.title = `${told.total ? Math.floor((100 * told.done) / told.total) : 0} % · ${name}`;
}

const name = document.title;
if (live instanceof HTMLElement) {
  const address = live.dataset.events ?? "";
  const events = new EventSource(address);
  let asking = 0;
  let isOver = false;

  /** @param {Record<string, any>} told */
  const take = (told) => {
    if (AT_WORK.includes(told.status)) show(told);
    else {
      stop();
      location.reload();
    }
  };
  const stop = () => {
    isOver = true;
    events.close();
    clearTimeout(asking);
  };

  /** Ask every now and then: a server that too many watch lets no more of them in. */
  async function ask() {
    try {
      const answer = await fetch(address.replace(/events$/, "progress"));
      if (answer.ok) take(await answer.json());
    } catch {
      write("note", AWAY);
    }
    if (!isOver) asking = setTimeout(ask, PAUSE); // else it would load the page again before it has come
  }

  for (const kind of ["message", "progress", "end"]) events.addEventListener(kind, (event) => take(JSON.parse(event.data)));
  events.addEventListener("error", () => {
    write("note", AWAY);
    // The browser tries again by itself, unless it was refused.
    if (events.readyState === EventSource.CLOSED && !asking) ask();
  });
  addEventListener("pagehide", stop);
}

// A large run whose numbers are being counted, or two that are being compared.
if (document.querySelector("[data-reload]")) setTimeout(() => location.reload(), 2000);
