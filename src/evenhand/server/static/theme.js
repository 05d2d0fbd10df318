// Loaded first and at once, so that no page is shown in the wrong theme, not even for a moment.
(() => {
  const root = document.documentElement;
  let kept = {};
  try {
    kept = {
      theme: localStorage.getItem("evenhand-theme"),
      density: localStorage.getItem("evenhand-density"),
      side: localStorage.getItem("evenhand-side"),
    };
  } catch {
    // Storage may be switched off; then the system's preference holds.
  }
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const theme = kept.theme === "light" || kept.theme === "dark" ? kept.theme : dark ? "dark" : "light";
  root.dataset.theme = theme;
  root.dataset.density = kept.density === "comfortable" ? "comfortable" : "compact";
  root.dataset.side = kept.side === "narrow" ? "narrow" : "wide";
})();
