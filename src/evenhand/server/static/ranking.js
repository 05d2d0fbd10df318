// The text of a profile and the reasons for its rank, loaded when somebody opens its row of the leaderboard.

/** @param {HTMLDetailsElement} fold */
async function load(fold) {
  const answer = await fetch(fold.dataset.from ?? "").catch(() => null);
  const whole = answer?.ok && new DOMParser().parseFromString(await answer.text(), "text/html");
  const found = whole && whole.querySelector("article.ranked-profile");
  const body = fold.querySelector(".about-profile");
  if (!body) return;
  // What was there before is a link to the same.
  if (found) body.replaceChildren(document.adoptNode(found));
  else delete fold.dataset.loaded;
}

for (const fold of document.querySelectorAll("details[data-from]")) {
  fold.addEventListener("toggle", () => {
    if (!(fold instanceof HTMLDetailsElement) || !fold.open || fold.dataset.loaded) return;
    fold.dataset.loaded = "1";
    load(fold);
  });
}
