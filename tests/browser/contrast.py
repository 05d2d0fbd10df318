"""Whether every word stands out from its ground, as WCAG demands: what axe does at length, by computed colours alone."""

from __future__ import annotations

from playwright.sync_api import Page

# Return each text with its contrast and the least that it needs. Of what lies over something that is not its ancestor,
# axe knows more; what is disabled is exempt, as there.
CONTRASTS = """() => {
  const FIELD = "input:not([type=checkbox], [type=radio], [type=hidden], [type=range], [type=file]), select, textarea";
  const channels = (colour) => {
    const [r, g, b, alpha = 1] = colour.match(/^rgba?\\((.+)\\)$/)[1].split(/[ ,/]+/).map(Number);
    return [r, g, b, alpha];
  };
  const over = ([r, g, b, alpha], ground) =>
    [...[r, g, b].map((value, place) => value * alpha + ground[place] * (1 - alpha)), 1];
  const linear = (value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const light = (colour) => {
    const [r, g, b] = colour.map((value) => linear(value / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const grounds = new Map([[null, [255, 255, 255, 1]]]);
  const ground = (element) => {
    if (!grounds.has(element)) {
      const own = channels(getComputedStyle(element).backgroundColor);
      grounds.set(element, own[3] === 1 ? own : over(own, ground(element.parentElement)));
    }
    return grounds.get(element);
  };
  const opacities = new Map([[null, 1]]);
  const opacity = (element) => {
    if (!opacities.has(element)) {
      opacities.set(element, Number(getComputedStyle(element).opacity) * opacity(element.parentElement));
    }
    return opacities.get(element);
  };
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    const texts = [...element.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data);
    const said = (element.matches(FIELD) ? element.value : texts.join("")).trim();
    if (!said || element.closest("script, option, :disabled, [aria-disabled=true]")) continue;
    if (!element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    const style = getComputedStyle(element);
    const ink = channels(element.closest("svg") ? style.fill : style.color);
    const behind = ground(element);
    ink[3] *= opacity(element);
    const [more, less] = [light(over(ink, behind)), light(behind)].sort((a, b) => b - a);
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const name = element.className.baseVal ?? element.className;
    found.push([(more + 0.05) / (less + 0.05), isLarge ? 3 : 4.5, `${element.localName}.${name}: ${said.slice(0, 40)}`]);
  }
  return found;
}"""


def contrasts(page: Page) -> list[tuple[float, float, str]]:
    """Return the contrast of each text that can be seen, the least that it needs (WCAG AA), and what it says."""
    return [(contrast, least, said) for contrast, least, said in page.evaluate(CONTRASTS)]


def faint(page: Page) -> list[str]:
    """Return the texts that do not stand out from their ground."""
    return [f"{said} ({contrast:.2f})" for contrast, least, said in contrasts(page) if contrast < least]
