/* Only the Total: a deck of slides. reveal.js turns them, js/figures.js moves what is on them. */
(() => {
  "use strict";

  // Arrow keys belong to a control that has the focus, and to the deck otherwise.
  const CONTROLS = "input, select, textarea, button, [role=slider], [tabindex]:not([tabindex='-1'])";

  const inControl = () => document.activeElement?.closest(CONTROLS)?.closest(".ab-explorable");

  // The keys of a presenter's remote control turn the slide whatever has the focus; ESC lets a control go.
  const TURNS = { PageDown: "next", PageUp: "prev", " ": "next" };

  function turnOrLetGo(event) {
    const back = event.key === " " && event.shiftKey;
    const turn = back ? "prev" : TURNS[event.key];
    const modified = event.altKey || event.ctrlKey || event.metaKey;
    if (!inControl() || modified || !(turn || event.key === "Escape")) return;
    event.preventDefault();
    event.stopPropagation();
    document.activeElement.blur();
    if (turn) Reveal[turn]();
  }

  addEventListener("keydown", turnOrLetGo, true); // before the control has the key

  const LEAST = 0.6; // of the usual size; what is larger than its slide even then can be scrolled

  // A long algorithm or a tall picture is made smaller until its slide holds it.
  function fit() {
    const slide = Reveal.getCurrentSlide();
    for (let size = 100; size > 100 * LEAST && isCut(slide); size -= 2) {
      slide.style.setProperty("--ab-fit", size / 100);
    }
  }

  const isCut = (slide) =>
    slide.scrollHeight > slide.clientHeight + 1 || slide.scrollWidth > slide.clientWidth + 1;

  Reveal.on("slidechanged", fit);
  Reveal.on("ready", async () => {
    await window.MathJax?.startup?.promise; // formulas have their size only then
    fit();
  });
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
    keyboardCondition: () => !inControl(),
  });
})();
