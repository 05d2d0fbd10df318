// Moments in the zone and the language of who reads; UTC, which is what the server writes, is in the title.

const written = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

/** @param {ParentNode} place */
function translate(place) {
  for (const one of place.querySelectorAll("time[datetime]:not([title])")) {
    const moment = new Date(one.dateTime);
    if (Number.isNaN(moment.valueOf())) continue;
    one.title = one.textContent;
    one.textContent = written.format(moment);
  }
}

translate(document);
// What is fetched later has moments too.
new MutationObserver((changes) => {
  if (changes.some((change) => [...change.addedNodes].some((node) => node instanceof Element))) translate(document);
}).observe(document.body, { childList: true, subtree: true });
