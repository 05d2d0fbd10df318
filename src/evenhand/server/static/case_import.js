// Test cases from CSV or JSONL: the preview follows what is pasted, chosen or dropped, and how columns are mapped.

const form = document.querySelector("form[data-import]");
const place = form.querySelector("[data-preview]");
const text = form.elements.namedItem("text");
const file = form.elements.namedItem("file");
const WAIT = 500; // milliseconds after the last key
let asked = 0;
let timer = 0;

/** The file stays chosen, and the preview changes by itself: what says otherwise is for pages without a script. */
function settle() {
  for (const part of place.querySelectorAll("[data-without-script]")) part.hidden = true;
  form.querySelector("button[value=preview]").classList.toggle("primary", !place.querySelector("button[value=add]"));
}

/** What is not shown any more cannot be added. */
function forget() {
  const add = place.querySelector("button[value=add]");
  if (add) add.disabled = true;
}

/** @param {string} said */
function tell(said) {
  const line = document.createElement("p");
  line.className = "notice error";
  line.textContent = said;
  place.replaceChildren(line);
}

/** Ask the server for the page with the preview, and take that out of it. */
async function preview() {
  clearTimeout(timer);
  forget();
  const mine = ++asked;
  if (!text.value.trim() && !file.files.length) {
    place.replaceChildren();
    return;
  }
  const fields = new FormData(form);
  fields.set("action", "preview");
  place.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(form.getAttribute("action"), { method: "POST", body: fields });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (mine !== asked) return;
    const fresh = page.querySelector("[data-preview]");
    if (!fresh) throw new Error(page.querySelector("main")?.textContent.trim() || `the server said ${answer.status}`);
    const focused = place.contains(document.activeElement) ? document.activeElement.id : "";
    place.replaceChildren(...fresh.childNodes);
    settle();
    if (focused) document.getElementById(focused)?.focus();
  } catch (error) {
    if (mine === asked) tell(`No preview: ${error.message}`);
  }
  if (mine === asked) place.removeAttribute("aria-busy");
}

function soon() {
  forget();
  clearTimeout(timer);
  timer = setTimeout(preview, WAIT);
}

text.addEventListener("input", () => {
  file.value = ""; // it is one or the other
  soon();
});
file.addEventListener("change", () => {
  if (file.files.length) text.value = "";
  preview();
});
form.addEventListener("change", (event) => {
  if (event.target instanceof HTMLSelectElement) soon(); // letters that are typed into it belong together
});
form.addEventListener("submit", (event) => {
  if (event.submitter?.value === "add") return;
  event.preventDefault();
  preview();
});
settle();
