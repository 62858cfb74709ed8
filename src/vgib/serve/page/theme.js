// Light, dark, or as the system is.

import { $ } from "/page/dom.js";

const THEMES = ["auto", "light", "dark"];

export function setUpTheme() {
  const button = $("theme");
  const apply = (theme) => {
    document.documentElement.dataset.theme = theme;
    if (button) button.textContent = `Theme: ${theme}`;
    try {
      localStorage.setItem("theme", theme);
    } catch {
      // A browser that keeps nothing still shows the theme.
    }
  };
  let stored = null;
  try {
    stored = localStorage.getItem("theme");
  } catch {
    // A browser that keeps nothing has no theme to restore.
  }
  apply(THEMES.includes(stored) ? stored : "auto");
  button?.addEventListener("click", () => apply(THEMES[(THEMES.indexOf(document.documentElement.dataset.theme) + 1) % THEMES.length]));
}
