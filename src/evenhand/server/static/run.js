// A run in progress: the server sends its progress twice a second, and the page reloads when the run ends.

import { counted, dollars, duration, NONE } from "./numbers.js";

const AT_WORK = ["planning", "running"];
const PAUSE = 2000; // milliseconds between two requests, where there is no stream
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

/** @param {Record<string, any>} progress of the run */
function show(progress) {
  const bar = live.querySelector('[data-live="bar"]');
  bar.max = progress.total || 1;
  bar.value = progress.done;
  const more = progress.waiting ? ", queued" : progress.stopping ? ", stopping" : progress.paused ? ", paused" : "";
  write("title", `${counted(progress.done)} of ${counted(progress.total)} evaluation${progress.total === 1 ? "" : "s"}${more}`);
  write("rate", rate(progress.rate));
  write("eta", duration(progress.eta));
  for (const name of ["errors", "retries", "calls", "cached"]) write(name, counted(progress[name]));
  write("cost", progress.calls === null ? NONE : dollars(progress.cost));
  write("paused", progress.paused);
  write("note", "Live: this page updates by itself.");
  document.title = `${progress.total ? Math.floor((100 * progress.done) / progress.total) : 0} % · ${name}`;
}

const name = document.title;
if (live instanceof HTMLElement) {
  const address = live.dataset.events ?? "";
  const events = new EventSource(address);
  let asking = 0;
  let isOver = false;

  /** @param {Record<string, any>} progress */
  const take = (progress) => {
    if (AT_WORK.includes(progress.status)) show(progress);
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

  /** Poll instead, where the server has too many streams already. */
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
    // The browser reconnects by itself, unless it was refused.
    if (events.readyState === EventSource.CLOSED && !asking) ask();
  });
  addEventListener("pagehide", stop);
}

// A large run whose numbers are being counted, or two that are being compared.
if (document.querySelector("[data-reload]")) setTimeout(() => location.reload(), 2000);
