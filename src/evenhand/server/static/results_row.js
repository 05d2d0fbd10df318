// A row of the table of results, made from what the API tells: as text, whatever it says.

import { dollars, duration } from "./numbers.js";

const WORDS = {
  pass: ["✓", "pass"], borderline: ["≈", "borderline"], fail: ["✗", "fail"], error: ["!", "error"],
  not_evaluated: ["–", "not evaluated"], ranked: ["✓", "ranked"],
};

/** @param {string} name @param {string} text @param {string} [className] */
function element(name, text, className = "") {
  const made = document.createElement(name);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

/**
 * @param {Record<string, any>} item an evaluation @param {string[]} columns
 * @param {number} scale up to what scores go; 0 where groups are ranked, which have none
 * @returns {HTMLTableRowElement}
 */
export function rowOf(item, columns, scale) {
  const isScored = item.status === "scored";
  const standing = !isScored ? item.status : scale ? item.verdict : "ranked";
  const badge = element("span", ` ${WORDS[standing][1]}`, `badge ${standing}`);
  const sign = element("span", WORDS[standing][0]);
  sign.ariaHidden = "true";
  badge.prepend(sign);
  const link = element("a", item.case_id);
  link.href = `${location.pathname}/${item.position}`;
  const [row, verdict, head] = [element("tr", ""), element("td", ""), element("th", "")];
  verdict.append(badge);
  head.scope = "row";
  head.append(link);
  const texts = {
    ...item, sample: item.sample + 1, asked: item.retry_count + 1, why: isScored ? item.reasoning : item.error ?? item.reasoning,
    seconds: duration(item.seconds), hits: `${item.hits} / ${item.misses}`, cost: dollars(item.cost),
  };
  const rest = columns.map((name) => element("td", String(texts[name] ?? "")));
  row.append(verdict, element("td", isScored && scale ? (scale * item.score).toFixed(2) : "–"), head, ...rest);
  return row;
}
