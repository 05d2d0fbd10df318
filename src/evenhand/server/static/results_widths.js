// The widths of the columns of a list: drawn with the pointer or moved with the arrow keys, and kept by this browser.

import { keep } from "./app.js";

const STEP = 24; // pixels for a key
const LEAST = 120;

/** @param {string} column @returns {number} the width that was kept, 0 where there is none */
function kept(column) {
  try {
    return Number(localStorage.getItem(`evenhand-width-${column}`)) || 0;
  } catch {
    return 0;
  }
}

/** Let the columns within an element be made wider and narrower. @param {Element} root */
export function prepareWidths(root) {
  const heads = [...root.querySelectorAll("th[data-column]")];
  /** @param {string} column @param {number} width */
  const set = (column, width) => {
    for (const head of heads) if (head.dataset.column === column) head.style.width = width ? `${Math.max(Math.round(width), LEAST)}px` : "";
  };
  for (const head of heads) {
    const { column } = head.dataset;
    if (kept(column)) set(column, kept(column));
    const grip = document.createElement("span");
    grip.className = "grip";
    grip.tabIndex = 0;
    grip.role = "separator";
    grip.ariaOrientation = "vertical";
    grip.ariaLabel = `Width of the column ${head.textContent.trim()}`;
    const told = () => {
      grip.ariaValueNow = String(Math.round(head.offsetWidth));
    };
    const change = (/** @type {number} */ width) => {
      set(column, width);
      keep(`width-${column}`, String(Math.max(Math.round(width), LEAST)));
      told();
    };
    grip.addEventListener("keydown", (event) => {
      const way = { ArrowLeft: -STEP, ArrowRight: STEP }[event.key];
      if (!way) return;
      event.preventDefault();
      event.stopPropagation();
      change(head.offsetWidth + way);
    });
    grip.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      const [from, width] = [event.clientX, head.offsetWidth];
      grip.setPointerCapture(event.pointerId);
      grip.onpointermove = (moved) => set(column, width + moved.clientX - from);
      grip.onpointerup = () => {
        grip.onpointermove = grip.onpointerup = null;
        change(head.offsetWidth);
      };
    });
    grip.addEventListener("dblclick", () => {
      set(column, 0);
      keep(`width-${column}`, "system");
      told();
    });
    told();
    head.append(grip);
  }
}
