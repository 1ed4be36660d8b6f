/* Before a page is printed its folds are opened and its colors are those of paper; afterwards all is as it was. */
(() => {
  "use strict";

  const root = document.documentElement;
  let folds = [];
  let theme = "";

  window.addEventListener("beforeprint", () => {
    folds = [...document.querySelectorAll("article details:not([open])")];
    for (const fold of folds) fold.open = true;
    theme = root.dataset.theme;
    root.dataset.theme = "light";
  });
  window.addEventListener("afterprint", () => {
    for (const fold of folds) fold.open = false;
    root.dataset.theme = theme;
  });
})();
