// The playground: tries the text of the editor, saved or not, while the page stays as it is.

import { headers, keep } from "./app.js";

const form = document.querySelector("form[data-try]");
const place = form.querySelector("[data-tried]");
const editor = document.querySelector("form.editor");
const prompt = form.dataset.try;
const chosen = form.elements.namedItem("case");
const TEXTS = ["input", "reference", "evaluation_schema"];
const USED = ["model", "judge"];
/** @type {AbortController | null} */
let asking = null;

/** @param {string} name @param {string} text @param {string} [kind] */
function made(name, text, kind = "") {
  const element = document.createElement(name);
  element.textContent = text;
  element.className = kind;
  return element;
}

/** Show how long it has taken, and a button that ends it. @returns {() => void} what ends the showing */
function wait() {
  const line = made("div", "", "waiting");
  const seconds = made("span", "", "quiet number");
  seconds.setAttribute("aria-hidden", "true");
  const stop = made("button", "Stop", "button");
  stop.type = "button";
  stop.addEventListener("click", () => asking?.abort());
  line.append(made("span", "Asking the model, then the judge …"), seconds, stop);
  place.replaceChildren(line);
  const began = Date.now();
  const ticking = setInterval(() => { seconds.textContent = `${Math.round((Date.now() - began) / 1000)} s`; }, 250);
  return () => clearInterval(ticking);
}

/** Send the form with the text of the editor. @param {string} action @param {AbortSignal} [signal] @returns {Promise<Document>} */
async function send(action, signal) {
  const fields = new FormData(form);
  for (const [name, value] of new FormData(editor)) if (name !== "token") fields.append(name, value);
  fields.set("action", action);
  const answer = await fetch(form.getAttribute("action"), { method: "POST", body: new URLSearchParams([...fields]), signal });
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}

/** @param {string} said */
const tell = (said) => {
  const line = made("p", said, "notice error");
  line.setAttribute("role", "alert");
  place.replaceChildren(line);
};

async function attempt() {
  if (asking) return;
  asking = new AbortController();
  for (const name of USED) keep(`try-${name}-${prompt}`, form.elements.namedItem(name).value);
  const done = wait();
  try {
    const page = await send("try", asking.signal);
    const fresh = page.querySelector("[data-tried]");
    if (fresh) place.replaceChildren(...fresh.childNodes);
    else tell(page.querySelector("main")?.textContent.trim() || "The server gave no answer.");
  } catch (error) {
    tell(error.name === "AbortError" ? "Stopped." : `No result: ${error.message}`);
  }
  done();
  asking = null;
}

async function keepCase() {
  const slot = place.querySelector("[data-kept]");
  try {
    const page = await send("keep");
    const problem = page.querySelector("[data-tried] .notice.error");
    slot.replaceChildren(...(problem ? [problem] : (page.querySelector("[data-kept]")?.childNodes ?? [])));
  } catch (error) {
    slot.replaceChildren(made("p", `Not kept: ${error.message}`, "notice error"));
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (event.submitter?.value === "keep") keepCase();
  else attempt();
});

chosen?.addEventListener("change", async () => {
  if (!chosen.value) return;
  const wanted = chosen.value;
  try {
    const answer = await fetch(`/api/prompts/${prompt}/test-cases/${wanted}`, { headers: headers() });
    const found = await answer.json();
    if (!answer.ok) throw new Error(found.detail);
    if (chosen.value !== wanted) return;
    for (const name of TEXTS) form.elements.namedItem(name).value = found[name] ?? "";
    if (found.reference || found.evaluation_schema) form.querySelector("details").open = true;
  } catch (error) {
    tell(`The test case could not be loaded: ${error.message}`);
  }
});
// What was changed is an input of one's own.
form.addEventListener("input", (event) => {
  if (chosen && TEXTS.includes(event.target.name)) chosen.value = "";
});

// What was used here last comes before what the last run used.
for (const name of USED) {
  const field = form.elements.namedItem(name);
  try {
    const kept = localStorage.getItem(`evenhand-try-${name}-${prompt}`);
    if (kept && field.value === field.defaultValue) field.value = kept;
  } catch {
    // Then it is what the last run used.
  }
}
