/* Only the Total: a deck of slides. reveal.js turns them, js/figures.js moves what is on them. */
(() => {
  "use strict";

  // Arrow keys belong to a control that has the focus, and to the deck otherwise.
  const CONTROLS = "input, select, textarea, button, [role=slider], [tabindex]:not([tabindex='-1'])";

  Reveal.initialize({
    width: 1280,
    height: 760,
    margin: 0.03,
    center: false,
    hash: true,
    slideNumber: true,
    transition: "none",
    backgroundTransition: "none",
    controlsTutorial: false,
    keyboardCondition: () => !document.activeElement?.closest(CONTROLS)?.closest(".ab-explorable"),
  });
})();
