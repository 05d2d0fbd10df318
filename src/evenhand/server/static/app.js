// What every page has: the theme, the sidebar, the keys, and buttons that copy.

import "./times.js";

const root = document.documentElement;

/** Keep a choice, where the browser lets us. @param {string} name @param {string} value */
export function keep(name, value) {
  try {
    if (value === "system") localStorage.removeItem(`evenhand-${name}`);
    else localStorage.setItem(`evenhand-${name}`, value);
  } catch {
    // The choice then holds for this page.
  }
}

/** @param {string} theme "light", "dark" or "system" */
export function setTheme(theme) {
  keep("theme", theme);
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = theme === "system" ? (dark ? "dark" : "light") : theme;
}

/** @returns {Record<string, string>} the headers of a request that changes or asks something */
export function headers() {
  const token = document.querySelector('meta[name="evenhand-token"]')?.getAttribute("content") ?? "";
  return { "Content-Type": "application/json", Authorization: `Bearer ${token}` };
}

/** @param {Element | null} target @returns {boolean} whether keys pressed there are text */
export function isWriting(target) {
  return target instanceof HTMLElement && (target.isContentEditable || target.matches("input:not([type=radio], [type=checkbox]), textarea, select"));
}

/** Give a form as the server sent it: somebody may have written in it before the scripts were there.
 * @param {HTMLFormElement} form @returns {HTMLFormElement} */
export function asSent(form) {
  const sent = form.cloneNode(true);
  sent.reset();
  return sent;
}

/** Take the explanations of words from another version of the page, or from another page. @param {Document} found */
export function takeWords(found) {
  for (const one of found.querySelectorAll("[data-words] > [popover]")) {
    if (!document.getElementById(one.id)) document.querySelector("[data-words]")?.append(document.adoptNode(one));
  }
}

const toggles = {
  theme: () => setTheme(root.dataset.theme === "dark" ? "light" : "dark"),
  side: () => {
    root.dataset.side = root.dataset.side === "narrow" ? "wide" : "narrow";
    keep("side", root.dataset.side);
    nameIcons();
  },
};

/** Where the sidebar shows only icons, say what they mean. */
function nameIcons() {
  for (const one of document.querySelectorAll(".side :is(a, button)")) {
    if (root.dataset.side === "narrow") one.title = one.textContent.trim();
    else one.removeAttribute("title");
  }
}
nameIcons();

// What is wrong with a form is where one wants to be, unless one is somewhere already.
const wrong = document.querySelector("form [aria-invalid=true]");
if (wrong instanceof HTMLElement && document.activeElement === document.body) wrong.focus();

for (const button of document.querySelectorAll("[data-toggle], [data-open], [data-copy]")) button.hidden = false;

document.addEventListener("click", async (event) => {
  const button = event.target instanceof Element ? event.target.closest("[data-toggle], [data-open], [data-copy]") : null;
  if (!(button instanceof HTMLElement)) return;
  if (button.dataset.toggle) toggles[button.dataset.toggle]?.();
  if (button.dataset.open) document.getElementById(button.dataset.open)?.showModal();
  if (button.dataset.copy) {
    const source = document.getElementById(button.dataset.copy);
    const said = (button.dataset.said ??= button.textContent); // before the first of several clicks
    try {
      await navigator.clipboard.writeText(source instanceof HTMLTextAreaElement ? source.value : source?.textContent ?? "");
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not allowed";
    }
    setTimeout(() => { button.textContent = said; }, 1500);
  }
});

/** Walk the rows of the page's table: their first links take the focus. @param {number} step */
function walk(step) {
  const rows = [...document.querySelectorAll("table.rows tbody tr, .rows > details")];
  const links = rows.map((row) => row.querySelector("summary, a")).filter(Boolean);
  if (!links.length) return;
  const at = links.indexOf(document.activeElement?.closest("tr, .rows > details")?.querySelector("summary, a"));
  links[at < 0 ? (step > 0 ? 0 : links.length - 1) : Math.min(Math.max(at + step, 0), links.length - 1)].focus();
}

document.addEventListener("keydown", (event) => {
  const target = event.target instanceof Element ? event.target : null;
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    target?.closest("form")?.requestSubmit(target.closest("form").querySelector("button.primary"));
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isWriting(target)) return;
  if (document.querySelector("dialog[open]")) return;
  if (event.key === "/") {
    const filter = document.querySelector("[data-filter]");
    if (!(filter instanceof HTMLElement)) return;
    event.preventDefault();
    filter.focus();
  } else if (event.key === "?") document.getElementById("shortcuts")?.showModal();
  else if (event.key === "j") walk(1);
  else if (event.key === "k") walk(-1);
  else if (/^[a-zA-Z0-9]$/.test(event.key)) {
    const named = [...document.querySelectorAll(`[data-key="${event.key}"]`)]; // links and buttons
    named.find((one) => one.checkVisibility())?.click();
  }
});

/* Choices on the settings page that are this browser's own. */
for (const name of ["theme", "density"]) {
  const kept = (() => { try { return localStorage.getItem(`evenhand-${name}`); } catch { return null; } })();
  for (const choice of document.querySelectorAll(`input[data-own="${name}"]`)) {
    choice.checked = choice.value === (kept ?? (name === "theme" ? "system" : "compact"));
    choice.addEventListener("change", () => {
      if (name === "theme") setTheme(choice.value);
      else {
        root.dataset.density = choice.value;
        keep("density", choice.value);
      }
    });
  }
}
