/* The search page. Each place of the book, with its text, is in window.abPages (book/_ext/search.py). */
(() => {
  "use strict";

  const MOST = 40; // places shown
  const AROUND = 110; // letters of the excerpt on either side of the word
  const GREEK = {
    alpha: "α", beta: "β", gamma: "γ", delta: "δ", epsilon: "ε", zeta: "ζ", eta: "η", theta: "θ", iota: "ι", kappa: "κ",
    lambda: "λ", mu: "μ", nu: "ν", xi: "ξ", pi: "π", rho: "ρ", sigma: "σ", tau: "τ", phi: "φ", chi: "χ", psi: "ψ", omega: "ω", vartheta: "ϑ",
  };

  /** Letters without accents and in lower case, one for each letter, so that positions stay what they are. */
  const fold = (text) => text.replace(/[^\x00-\x7f]|[A-Z]/g, (letter) => {
    const plain = letter.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
    return plain.length === letter.length ? plain : letter;
  });

  const places = window.abPages.flatMap(([page, name, parts]) =>
    parts.map(([anchor, title, text]) => ({ page, name, anchor, title, text, inTitle: fold(title), inText: fold(text) })));

  /** What may stand for a word: itself, without a plural's s, and the Greek letter that it names. */
  function spellings(word) {
    const forms = [word];
    if (/[a-z]{3}s$/.test(word)) forms.push(word.slice(0, -1));
    if (Object.hasOwn(GREEK, word)) forms.push(GREEK[word]);
    return forms;
  }

  const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

  /** Matches words that begin with the word; a sign that is no letter is found anywhere. */
  function pattern(word) {
    const forms = spellings(word).map((form) => (/^[\p{L}\p{N}]/u.test(form) ? `(?<![\\p{L}\\p{N}])${escaped(form)}` : escaped(form)));
    return new RegExp(forms.join("|"), "gu");
  }

  /** How well a place answers, 0 if one of the words is not in it. */
  function score(place, patterns) {
    let sum = 0;
    for (const one of patterns) {
      const inTitle = (place.inTitle.match(one) || []).length;
      const inText = (place.inText.match(one) || []).length;
      if (!inTitle && !inText) return 0;
      sum += (inTitle ? 20 : 0) + Math.min(inText, 5) + (inText ? 20 * inText / (place.text.length + 200) : 0);
    }
    return place.anchor ? sum : sum + 1;
  }

  /** The part of the text in which the first word stands, and the words in it marked. */
  function excerpt(place, patterns) {
    const first = Math.min(...patterns.map((one) => place.inText.search(one)).filter((at) => at >= 0), place.text.length);
    const from = first < place.text.length ? Math.max(0, first - AROUND) : 0;
    const start = from && place.text.indexOf(" ", from) + 1;
    const part = place.text.slice(start, start + 2 * AROUND + 20).replace(/\s\S*$/, "");
    const element = document.createElement("p");
    if (start) element.append("… ");
    mark(element, part, patterns);
    if (start + part.length < place.text.length) element.append(" …");
    return element;
  }

  function mark(element, text, patterns) {
    const folded = fold(text);
    const spans = patterns.flatMap((one) => [...folded.matchAll(one)].map((found) => [found.index, found.index + found[0].length]));
    let at = 0;
    for (const [from, to] of spans.sort((a, b) => a[0] - b[0])) {
      if (from < at) continue;
      const hit = document.createElement("mark");
      hit.textContent = text.slice(from, to);
      element.append(text.slice(at, from), hit);
      at = to;
    }
    element.append(text.slice(at));
  }

  function item(place, patterns, query) {
    const element = document.createElement("li");
    const link = document.createElement("a");
    const search = new URLSearchParams({ highlight: query });
    link.href = `${place.page}?${search}${place.anchor ? `#${place.anchor}` : ""}`;
    mark(link, place.title || place.name, patterns);
    element.append(link);
    if (place.title !== place.name) {
      const where = document.createElement("span");
      where.className = "ab-where";
      where.textContent = place.name;
      element.append(" ", where);
    }
    if (place.text) element.append(excerpt(place, patterns));
    return element;
  }

  function find(query) {
    const words = fold(query).split(/\s+/).filter(Boolean);
    const patterns = words.map(pattern);
    const best = new Map(); // a section that goes on behind a statement is one place
    for (const place of words.length ? places : []) {
      const points = score(place, patterns);
      const key = `${place.page}#${place.anchor}`;
      if (points > (best.get(key)?.points || 0)) best.set(key, { place, points });
    }
    const found = [...best.values()].sort((a, b) => b.points - a.points);
    list.replaceChildren(...found.slice(0, MOST).map(({ place }) => item(place, patterns, query)));
    status.textContent = !words.length ? "" : verdict(found.length, query);
  }

  function verdict(count, query) {
    if (!count) return `Nothing in the book has all of: ${query}`;
    const places = count === 1 ? "one place" : `${count} places`;
    return count > MOST ? `${places}; the best ${MOST}:` : `${places}:`;
  }

  const field = document.querySelector("#ab-search input");
  const status = document.getElementById("ab-found");
  const list = document.getElementById("ab-results");
  let timer = 0;

  field.value = new URLSearchParams(location.search).get("q") || "";
  find(field.value);
  field.focus();
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      find(field.value);
      const query = field.value ? `?${new URLSearchParams({ q: field.value })}` : "";
      history.replaceState(null, "", location.pathname + query);
    }, 150);
  });
})();
