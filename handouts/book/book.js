// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
// The book can be read without this: it folds the contents, marks the place, and searches.
(() => {
  "use strict";
  const root = document.documentElement;
  const at = (id) => document.getElementById(id);
  const side = at("side"), menu = at("menu"), form = at("search"), field = form.elements.q;
  root.classList.add("js");
  menu.hidden = form.hidden = false;

  // In a narrow window the contents are behind a button.
  const fold = (open) => {
    root.classList.toggle("menu", open);
    menu.setAttribute("aria-expanded", open);
  };
  menu.addEventListener("click", () => fold(!root.classList.contains("menu")));
  side.addEventListener("click", (event) => event.target.closest("a") && fold(false));

  // The section at the top of the window is marked in the contents, its chapter unfolded.
  const entries = [...document.querySelectorAll("#contents a")].map((link) => ({
    link, place: at(decodeURIComponent(link.hash.slice(1))), chapter: link.closest("#contents > ul > li"),
  }));
  let current;
  const mark = () => {
    const now = entries.findLast((entry) => entry.place.getBoundingClientRect().top < 120) || entries[0];
    if (now === current) return;
    current?.link.removeAttribute("aria-current");
    current?.chapter.classList.remove("open");
    current = now;
    now.link.setAttribute("aria-current", "true");
    now.chapter.classList.add("open");
    const link = now.link.getBoundingClientRect(), box = side.getBoundingClientRect();
    if (field.value === "" && (link.top < box.top || link.bottom > box.bottom))
      side.scrollTop += link.top - box.top - box.height / 3;
  };
  addEventListener("scroll", () => requestAnimationFrame(mark), { passive: true });
  mark();

  // What is searched: each paragraph, item, row and block of code, by its text and its headings.
  const words = (text) => text.normalize("NFKC").replace(/\u2212/g, "-").replace(/[\u2061\u200b]/g, "")
    .replace(/\s+/g, " ").trim();
  const text = (node) => words(node.matches("tr")
    ? [...node.children].map((cell) => cell.textContent).join(" ") : node.textContent);
  let index;
  const build = () => [...document.querySelectorAll("main :is(h1, h2, h3, p, pre, li, tr)")]
    .filter((node) => !node.querySelector("p, pre, li"))
    .map((node, i) => {
      const title = [];
      for (let s = node.closest("section"); s; s = s.parentElement.closest("section"))
        title.unshift(text(s.firstElementChild));
      const heading = /^H/.test(node.tagName);
      if (!heading) node.id ||= `at-${i}`;
      const entry = { id: heading ? node.parentElement.id : node.id, heading, title: title.join(" › "), text: text(node) };
      return { ...entry, folded: entry.text.toLowerCase(), all: `${entry.title} ${entry.text}`.toLowerCase() };
    });

  // The text around the first word, with every word marked.
  const excerpt = (entry, wanted) => {
    const first = Math.min(...wanted.map((word) => entry.folded.indexOf(word)).filter((i) => i >= 0));
    const begin = first > 50 ? entry.text.indexOf(" ", first - 40) + 1 : 0;
    const end = Math.min(entry.text.length, Math.max(begin, first) + 140);
    const span = document.createElement("span");
    span.append(begin > 0 ? "… " : "");
    for (let i = begin, from = i; i <= end; ) {
      const word = wanted.find((w) => entry.folded.startsWith(w, i));
      if (word || i === end) span.append(entry.text.slice(from, i));
      if (word) {
        span.append(Object.assign(document.createElement("mark"), { textContent: entry.text.slice(i, i + word.length) }));
        from = i + word.length;
      }
      i += word ? word.length : 1;
    }
    span.append(end < entry.text.length ? " …" : "");
    return span;
  };
  const MOST = 60;
  const search = () => {
    const wanted = words(field.value.toLowerCase()).split(" ").filter(Boolean).sort((a, b) => b.length - a.length);
    index ||= build();
    const found = wanted.length === 0 ? [] : index.filter((entry) =>
      wanted.every((word) => entry.all.includes(word)) && wanted.some((word) => entry.folded.includes(word)));
    found.sort((a, b) => b.heading - a.heading);
    at("hits").replaceChildren(...found.slice(0, MOST).map((entry) => {
      const item = document.createElement("li"), link = document.createElement("a");
      link.href = `#${entry.id}`;
      link.append(entry.title, entry.heading ? "" : excerpt(entry, wanted));
      item.append(link);
      return item;
    }));
    const said = found.length > MOST ? "first" : found.length > 1 ? "many" : found.length ? "one" : "none";
    at("count").textContent = wanted.length === 0 ? ""
      : form.dataset[said].replace("N", found.length).replace("M", MOST);
    at("contents").hidden = wanted.length > 0;
  };
  field.addEventListener("input", search);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    at("hits").querySelector("a")?.click();
  });

  addEventListener("keydown", (event) => {
    const links = [...at("hits").querySelectorAll("a")], i = links.indexOf(document.activeElement);
    if (event.key === "/" && document.activeElement !== field && !event.ctrlKey && !event.metaKey) {
      fold(true);
      field.focus();
    } else if (event.key === "Escape") {
      field.value = "";
      search();
      fold(false);
    } else if (event.key === "ArrowDown" && (i >= 0 || document.activeElement === field)) {
      links[Math.min(i + 1, links.length - 1)]?.focus();
    } else if (event.key === "ArrowUp" && i >= 0) {
      (links[i - 1] || field).focus();
    } else return;
    event.preventDefault();
  });

  // Checklists can be ticked; this browser keeps it, where it may.
  for (const box of document.querySelectorAll("main input[type=checkbox]")) {
    const label = words(box.closest("li").textContent), key = `fibdrv ${box.closest("section").id}: ${label}`;
    box.disabled = false;
    box.setAttribute("aria-label", label);
    try {
      box.checked = localStorage.getItem(key) !== null;
    } catch { }
    box.addEventListener("change", () => {
      try {
        box.checked ? localStorage.setItem(key, "") : localStorage.removeItem(key);
      } catch { }
    });
  }

  // index.html?q=words is a search that can be passed on.
  field.value = new URLSearchParams(location.search).get("q") || "";
  if (field.value) search();
})();
