// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
// The pages can be read without this: it folds the contents, keeps the place when the language is
// changed, searches, and lets checklists be ticked.
"use strict";
const menu = document.getElementById("menu"), wide = matchMedia("(min-width: 901px)");
const fold = () => { menu.open = wide.matches && !document.body.matches(".landing"); };
wide.addEventListener("change", fold);
fold();

addEventListener("DOMContentLoaded", () => {
  const at = (id) => document.getElementById(id);
  const form = at("search"), field = form.elements.q;
  form.hidden = false;
  menu.addEventListener("click", (event) => event.target.closest("a") && fold());

  // The headings have the same names in all languages.
  const sections = [...document.querySelectorAll("main section[id]:not(.level1)")];
  for (const link of document.querySelectorAll("header a[hreflang]"))
    link.addEventListener("click", () => {
      const here = sections.findLast((section) => section.getBoundingClientRect().top < 120);
      link.hash = here ? here.id : "";
    });

  const words = (text) => text.replace(/\u2212/g, "-").toLowerCase();
  // The part of a text from begin to end, with every word that was asked for marked.
  const marked = (text, begin, end, wanted) => {
    const folded = words(text), span = document.createElement("span");
    for (let i = begin, from = i; i <= end; ) {
      const word = wanted.find((w) => folded.startsWith(w, i));
      if (word || i === end) span.append(text.slice(from, i));
      if (word) {
        span.append(Object.assign(document.createElement("mark"), { textContent: text.slice(i, i + word.length) }));
        from = i + word.length;
      }
      i += word ? word.length : 1;
    }
    return span;
  };
  // The text around the first word. It begins after a space, if there is one close before the word:
  // Chinese has none. If only the title has the words, it is the beginning.
  const excerpt = (text, wanted) => {
    const places = wanted.map((word) => words(text).indexOf(word)).filter((i) => i >= 0);
    const first = Math.min(...places, places.length ? text.length : 0);
    const space = text.indexOf(" ", first - 40) + 1;
    const begin = first <= 50 ? 0 : space > 0 && space <= first ? space : first - 40;
    const end = Math.min(text.length, Math.max(begin, first) + 140);
    const span = marked(text, begin, end, wanted);
    span.prepend(begin > 0 ? "… " : "");
    span.append(end < text.length ? " …" : "");
    return span;
  };
  const MOST = 60;
  const search = () => {
    const wanted = words(field.value).split(/\s+/).filter(Boolean).sort((a, b) => b.length - a.length);
    const found = wanted.length === 0 ? [] : window.searchIndex
      .map(([url, title, text]) => ({ url, title, text, all: words(`${title} ${text}`) }))
      .filter(({ all }) => wanted.every((word) => all.includes(word)));
    const named = ({ title }) => wanted.filter((word) => words(title).includes(word)).length;
    found.sort((a, b) => named(b) - named(a));
    at("hits").replaceChildren(...found.slice(0, MOST).map((entry) => {
      const item = document.createElement("li"), link = document.createElement("a");
      link.href = entry.url;
      const title = marked(entry.title, 0, entry.title.length, wanted);
      link.append(...title.childNodes, excerpt(entry.text, wanted));
      item.append(link);
      return item;
    }));
    const said = found.length > MOST ? "first" : found.length > 1 ? "many" : found.length ? "one" : "none";
    at("count").textContent = wanted.length === 0 ? ""
      : form.dataset[said].replace("N", found.length).replace("M", MOST);
    at("contents").hidden = wanted.length > 0;
  };
  // The text of all pages comes with the first search, as a script so that it does from a disk, too.
  const load = () => {
    if (document.querySelector("script[data-text]")) return;
    const script = Object.assign(document.createElement("script"), { src: form.dataset.index, onload: search });
    script.dataset.text = "";
    document.head.append(script);
  };
  field.addEventListener("focus", load);
  field.addEventListener("input", () => window.searchIndex && search());
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    at("hits").querySelector("a")?.click();
  });
  addEventListener("keydown", (event) => {
    const links = [...at("hits").querySelectorAll("a")], i = links.indexOf(document.activeElement);
    if (event.key === "/" && document.activeElement !== field && !event.ctrlKey && !event.metaKey) {
      menu.open = true;
      field.focus();
    } else if (event.key === "Escape" && menu.contains(document.activeElement)) {
      field.value = "";
      window.searchIndex && search();
      fold();
    } else if (event.key === "ArrowDown" && (i >= 0 || document.activeElement === field)) {
      links[Math.min(i + 1, links.length - 1)]?.focus();
    } else if (event.key === "ArrowUp" && i >= 0) {
      (links[i - 1] || field).focus();
    } else return;
    event.preventDefault();
  });

  // What is wider than the window is moved in it by keyboard, too.
  for (const box of document.querySelectorAll("pre, .scroll"))
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;

  // This browser keeps what is ticked, where it may.
  const page = location.pathname.split("/").pop();
  for (const box of document.querySelectorAll("main input[type=checkbox]")) {
    const label = box.closest("li").textContent.replace(/\s+/g, " ").trim(), key = `fibdrv ${page}: ${label}`;
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

  // course.html?q=words is a search that can be passed on.
  field.value = new URLSearchParams(location.search).get("q") || "";
  if (field.value) {
    menu.open = true;
    load();
  }
});
