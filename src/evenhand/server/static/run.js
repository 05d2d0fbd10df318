// A run while it goes on: the server tells twice a second how it gets on, and the page is loaded anew when it ends.

const AT_WORK = ["planning", "running"];
const NONE = "–";

const live = document.querySelector("[data-events]");
/** @param {string} name @param {string} said */
const write = (name, said) => {
  const place = live?.querySelector(`[data-live="${name}"]`);
  if (place && place.textContent !== said) place.textContent = said;
};

/** @param {number | null} number @returns {string} */
const counted = (number) => (number === null ? NONE : number.toLocaleString("en"));

/** Write how long something takes, as the server does. @param {number | null} seconds @returns {string} */
function duration(seconds) {
  if (seconds === null) return NONE;
  if (seconds < 60) return seconds < 10 ? `${seconds.toFixed(2)} s` : `${seconds.toFixed(0)} s`;
  const minutes = Math.floor(Math.round(seconds) / 60);
  const hours = Math.floor(minutes / 60);
  return hours ? `${hours} h ${minutes % 60} min` : `${minutes} min ${Math.round(seconds) % 60} s`;
}

/** Write dollars, with as many digits as small amounts need. @param {number | null} cost @returns {string} */
function dollars(cost) {
  if (cost === null) return "unknown";
  const digits = cost === 0 || cost >= 1 ? 2 : Math.min(Math.max(2, 1 - Math.floor(Math.log10(cost))), 8);
  return `$${cost.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits })}`;
}

/** @param {Record<string, any>} told how the run gets on */
function show(told) {
  const bar = live.querySelector('[data-live="bar"]');
  bar.max = told.total || 1;
  bar.value = told.done;
  const more = told.waiting ? ", waiting for its turn" : told.stopping ? ", stopping" : "";
  write("title", `${counted(told.done)} of ${counted(told.total)} evaluation${told.total === 1 ? "" : "s"}${more}`);
  write("rate", told.rate ? `${told.rate.toFixed(1)} a second` : NONE);
  write("eta", duration(told.eta));
  for (const name of ["errors", "retries", "calls", "cached"]) write(name, counted(told[name]));
  write("cost", told.calls === null ? NONE : dollars(told.cost));
  write("note", "Live: this page follows the run.");
  document.title = `${told.total ? Math.floor((100 * told.done) / told.total) : 0} % · ${name}`;
}

const name = document.title;
if (live instanceof HTMLElement) {
  const events = new EventSource(live.dataset.events ?? "");
  const take = (/** @type {MessageEvent} */ event) => {
    const told = JSON.parse(event.data);
    if (AT_WORK.includes(told.status)) show(told);
    else {
      events.close();
      location.reload();
    }
  };
  for (const kind of ["message", "progress", "end"]) events.addEventListener(kind, take);
  events.addEventListener("error", () => write("note", "The server is out of reach; this page tries again."));
  addEventListener("pagehide", () => events.close());
}

// A large run whose numbers are being counted, or two that are being compared.
if (document.querySelector("[data-reload]")) setTimeout(() => location.reload(), 2000);
