// A form whose text is lost when the page is left: the browser asks first, if something was changed.

import { asSent } from "./app.js";

/** @param {HTMLFormElement} form @returns {string} what stands in it, without what is only tried out */
const written = (form) => JSON.stringify([...new FormData(form)].filter(([name]) => name !== "output"));

for (const form of document.querySelectorAll("form[data-guard]")) {
  // A form that came back with a mistake in it was never saved.
  let before = form.dataset.guard === "unsaved" ? "" : written(asSent(form));
  const leave = () => { before = written(form); };
  form.addEventListener("submit", leave);
  form.querySelector("[data-discard]")?.addEventListener("click", leave);
  addEventListener("beforeunload", (event) => {
    if (written(form) !== before) event.preventDefault();
  });
}
