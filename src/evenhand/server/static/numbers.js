// Numbers in words, as the server writes them.

export const NONE = "–";

/** @param {number | null} number @returns {string} */
export const counted = (number) => (number === null ? NONE : number.toLocaleString("en"));

/** Write how long something takes. @param {number | null} seconds @returns {string} */
export function duration(seconds) {
  if (seconds === null) return NONE;
  if (seconds < 60) return seconds < 10 ? `${seconds.toFixed(2)} s` : `${seconds.toFixed(0)} s`;
  const minutes = Math.floor(Math.round(seconds) / 60);
  const hours = Math.floor(minutes / 60);
  return hours ? `${hours} h ${minutes % 60} min` : `${minutes} min ${Math.round(seconds) % 60} s`;
}

/** Write dollars, with as many digits as small amounts need. @param {number | null} cost @returns {string} */
export function dollars(cost) {
  if (cost === null) return "unknown";
  const digits = cost === 0 || cost >= 1 ? 2 : Math.min(Math.max(2, 1 - Math.floor(Math.log10(cost))), 8);
  return `$${cost.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits })}`;
}
