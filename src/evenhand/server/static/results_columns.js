// Which columns the table of results has: the page is loaded anew with those that are chosen, and this browser keeps them.

const KEPT_SECONDS = 365 * 24 * 3600;

/** @param {() => URLSearchParams} wanted gives what else the address says */
export function prepareColumns(wanted) {
  const menu = document.getElementById("columns");
  const boxes = [...menu.querySelectorAll("input[type=checkbox]")];
  const chosen = () => boxes.filter((box) => box.checked).map((box) => box.value);
  const before = boxes.filter((box) => box.defaultChecked).map((box) => box.value).join(".");

  function show() {
    const names = chosen();
    if (names.join(".") === before) return;
    document.cookie = `evenhand-columns=${names.join(".")}; path=/runs; max-age=${KEPT_SECONDS}; samesite=strict`;
    const query = wanted();
    query.delete("column");
    for (const name of names.length ? names : [""]) query.append("column", name);
    location.replace(`?${query}`);
  }

  // Several may be ticked before the menu is closed, however that is done.
  menu.addEventListener("toggle", () => menu.open || show());
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });
  menu.querySelector("#show-columns").addEventListener("click", (event) => {
    event.preventDefault();
    menu.open = false;
  });
  document.addEventListener("click", (event) => {
    if (menu.open && !menu.contains(event.target)) menu.open = false;
  });
  if (!menu.open) show(); // it may have been closed before this script was there
}
