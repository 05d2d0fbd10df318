// Filter, search and sort for the table of cases. The page shows everything without it.
"use strict";

(() => {
  const table = document.getElementById("cases");
  const search = document.getElementById("search");
  const openAll = document.getElementById("open");
  const body = table.tBodies[0];
  const rows = [...body.rows]; // in the order of the report
  const chips = [...document.querySelectorAll("#tools button[data-standing]")];
  const heads = [...table.tHead.rows[0].cells].slice(0, -1);
  const severity = ["error", "fail", "borderline", "pass", "scored", "ranked", "not_evaluated", "pending"];
  const collator = new Intl.Collator(undefined, { numeric: true });
  const texts = new Map();
  let state = { only: [], find: "", sort: -1, down: false };
  let arranged = state;
  let pause; // while somebody types

  const folder = (row) => row.querySelector(".more > details");
  const visible = () => [...body.rows].filter((row) => !row.hidden);

  // What a reader would look for: not the prompts, in which every word stands somewhere.
  function textOf(row) {
    if (!texts.has(row)) {
      const parts = row.querySelectorAll(".id, .material .passage, .reasoning, .points, .problem");
      texts.set(row, [...parts].map((part) => part.textContent).join("\n").toLowerCase());
    }
    return texts.get(row);
  }

  function key(row, column) {
    if (column === 0) return row.querySelector(".id").textContent;
    const by = heads[column].dataset.by;
    if (by === "standing") return severity.indexOf(row.dataset.standing);
    if (by === "text") return row.cells[column].textContent;
    const value = row.cells[column].dataset.value;
    return value === undefined ? null : Number(value);
  }

  function sorted() {
    if (state.sort < 0) return rows;
    const keyed = rows.map((row) => [key(row, state.sort), row]);
    const sign = state.down ? -1 : 1;
    // What has no value comes last, whichever way the others stand.
    keyed.sort(([a], [b]) => {
      if (a === null || b === null) return (a === null) - (b === null);
      return sign * (typeof a === "string" ? collator.compare(a, b) : a - b);
    });
    return keyed.map(([, row]) => row);
  }

  function arrange() {
    if (state.sort === arranged.sort && state.down === arranged.down) return;
    arranged = state;
    // Out of the page while it changes: in it, twenty thousand rows would take minutes to move.
    body.remove();
    body.append(...sorted());
    table.append(body);
  }

  function show() {
    const find = state.find.trim().toLowerCase();
    let count = 0;
    for (const row of rows) {
      const wanted = !state.only.length || state.only.includes(row.dataset.standing);
      row.hidden = !(wanted && (!find || textOf(row).includes(find)));
      count += !row.hidden;
    }
    arrange();
    chips.forEach((chip) => chip.setAttribute("aria-pressed", state.only.includes(chip.dataset.standing)));
    heads.forEach((head, column) => {
      if (column === state.sort) head.setAttribute("aria-sort", state.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    const total = rows.length.toLocaleString("en");
    const all = count === rows.length;
    document.getElementById("shown").textContent =
      all ? `${total} shown` : count ? `${count.toLocaleString("en")} of ${total} shown` : `none of ${total} matches`;
  }

  function remember() {
    const said = new URLSearchParams();
    if (state.only.length) said.set("only", state.only.join(","));
    if (state.find) said.set("find", state.find);
    if (state.sort >= 0) said.set("sort", (state.down ? "-" : "") + state.sort);
    history.replaceState(null, "", `#${said}`);
  }

  function recall() {
    const hash = location.hash.slice(1);
    const target = /^case-\d+$/.test(hash) && document.getElementById(hash);
    if (target && !target.hidden) return reveal(target);
    const said = new URLSearchParams(target ? "" : hash);
    const sort = /^(-?)(\d+)$/.exec(said.get("sort") ?? "");
    const known = sort && Number(sort[2]) < heads.length;
    state = {
      only: severity.filter((one) => (said.get("only") ?? "").split(",").includes(one)),
      find: said.get("find") ?? "",
      sort: known ? Number(sort[2]) : -1,
      down: known ? sort[1] === "-" : false,
    };
    search.value = state.find;
    show();
    if (target) reveal(target);
  }

  function reveal(row) {
    if (folder(row)) folder(row).open = true;
    row.scrollIntoView();
  }

  function change(changed) {
    clearTimeout(pause);
    state = { ...state, find: search.value, ...changed };
    show();
    remember();
  }

  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    // Up, down, and back to the order of the report.
    button.addEventListener("click", () => {
      if (state.sort !== column) change({ sort: column, down: false });
      else change(state.down ? { sort: -1, down: false } : { down: true });
    });
  });

  for (const chip of chips) {
    chip.addEventListener("click", () => {
      const one = chip.dataset.standing;
      change({ only: state.only.includes(one) ? state.only.filter((other) => other !== one) : [...state.only, one] });
    });
  }

  search.addEventListener("input", () => {
    clearTimeout(pause);
    pause = setTimeout(change, 120, {});
  });

  openAll.addEventListener("click", () => {
    const folders = visible().map(folder).filter(Boolean);
    const open = folders.some((one) => !one.open);
    folders.forEach((one) => { one.open = open; });
    openAll.textContent = open ? "Close all" : "Open all";
  });

  // J and K go from row to row, Escape closes the one that is open, / goes to the search.
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const row = event.target.closest("#cases > tbody > tr");
    if (event.target === search) {
      if (event.key === "Escape") {
        search.value = "";
        change({});
      }
    } else if (event.key === "/") {
      event.preventDefault();
      search.focus();
    } else if (row && (event.key === "j" || event.key === "k")) {
      const near = visible().filter(folder);
      const next = near[near.indexOf(row) + (event.key === "j" ? 1 : -1)];
      if (next) folder(next).firstElementChild.focus();
    } else if (row && event.key === "Escape") {
      folder(row).open = false;
      folder(row).firstElementChild.focus();
    }
  });

  addEventListener("hashchange", recall);
  document.getElementById("tools").hidden = false;
  show();
  recall();
})();
