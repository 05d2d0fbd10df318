// A run in progress: one stream says how far it is, and whoever shows it looks again.

const PAUSE = 2000; // milliseconds between two looks

/** Call `look` when something was added to a run, and at its end. @param {string} address @param {() => void} look */
export function follow(address, look) {
  const events = new EventSource(address);
  let last = "";
  let due = 0;
  const heard = (/** @type {MessageEvent} */ event) => {
    const { status, done } = JSON.parse(event.data);
    const now = `${status} ${done}`;
    const isOver = event.type === "end";
    if (isOver) events.close();
    if (now === last || (due && !isOver)) return;
    last = now;
    clearTimeout(due);
    due = setTimeout(() => {
      due = 0;
      look();
    }, isOver ? 0 : PAUSE);
  };
  for (const kind of ["message", "progress", "end"]) events.addEventListener(kind, heard);
  addEventListener("pagehide", () => events.close());
}
