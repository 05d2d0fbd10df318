// One stream for a page of runs in progress, and what the page says about it: that it is up to date, or since when not.

const STALE = 10_000; // milliseconds without a word, where the server says something every five seconds
const PAUSE = 2000; // milliseconds between two requests, where there is no stream
const CONNECTING = "Connecting …";
const LIVE = "Live: this page updates by itself.";
const AWAY = "The server cannot be reached; retrying.";
const OFFLINE = "This device is offline; the page goes on when it is back.";

let said = "";

/** Say how a page stands, where it has a place for that. @param {string} text */
export function say(text) {
  said = text;
  const place = document.querySelector("[data-live-note]");
  if (place && place.textContent !== text) place.textContent = text;
}

/** Say it once more in a place that has just come. */
export function sayAgain() {
  if (said) say(said);
}

/** Follow a stream until `take` returns false. While nothing is in progress, the page says only what is wrong.
 * @param {string} address @param {(told: {state: string, runs: Record<string, any>}) => boolean | void} take */
export function follow(address, take) {
  /** @type {EventSource | null} */
  let events = null;
  let asking = 0;
  let watching = 0;
  let last = Date.now();
  let isOver = false;
  let isAway = false;

  /** @param {string} data */
  const heard = (data) => {
    const told = JSON.parse(data);
    last = Date.now();
    isAway = false;
    say(told.state ? LIVE : "");
    if (take(told) === false) {
      isOver = true;
      say("");
      close();
    }
  };
  const away = () => {
    isAway = true;
    say(navigator.onLine ? AWAY : OFFLINE);
  };
  const close = () => {
    events?.close();
    events = null;
    clearTimeout(asking);
    clearInterval(watching);
  };

  /** Ask instead, where the server has too many streams already. */
  async function ask() {
    try {
      const answer = await fetch(address, { headers: { Accept: "application/json" } });
      if (answer.ok) heard(await answer.text());
      else away();
    } catch {
      away();
    }
    if (!isOver) asking = setTimeout(ask, PAUSE);
  }

  const open = () => {
    events = new EventSource(address);
    events.addEventListener("runs", (event) => heard(event.data));
    events.addEventListener("trouble", (event) => {
      isAway = true;
      say(`The runs cannot be read: ${JSON.parse(event.data)}`);
    });
    events.addEventListener("error", () => {
      if (!isAway) away();
      // The browser connects again by itself, unless it was refused.
      if (events?.readyState === EventSource.CLOSED) ask();
    });
    watching = setInterval(() => {
      const silent = Date.now() - last;
      if (!isAway && silent > STALE) say(`Last heard ${Math.round(silent / 1000)} s ago; what is shown may be out of date.`);
    }, 1000);
  };
  say(CONNECTING);
  open();
  addEventListener("offline", away);
  addEventListener("pagehide", close);
  addEventListener("pageshow", (event) => {
    if (event.persisted && !isOver) open(); // Back shows the page as it was left
  });
}
