"use strict";
// Draws the figures of a page, dims labels that are not picked, and sorts and filters tables. Nothing is loaded.
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const night = { "#000000": "#e7eaed", "#0072B2": "#2b8fd6", "#333333": "#d5dade", "#9a9a9a": "#7d858e", "#e4e4e4": "#333a41", "#ffffff": "#1b1f24", "#666666": "#a0a8b1" };
  const state = { only: new Set(), linear: new Set() };
  const charts = new Map();

  // The state in the address: #figure?only=a&only=b&linear=figure
  function read() {
    const query = new URLSearchParams(location.hash.split("?")[1] || "");
    state.only = new Set(query.getAll("only"));
    state.linear = new Set(query.getAll("linear"));
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1).split("?")[0]));
    if (target) {
      for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
      const folded = target.querySelector(":scope > details.task");
      if (folded) folded.open = true;
      target.scrollIntoView();
    }
  }

  function address(id) {
    const query = new URLSearchParams();
    for (const label of state.only) query.append("only", label);
    for (const stem of state.linear) query.append("linear", stem);
    const text = query.toString();
    return "#" + id + (text ? "?" + text : "");
  }

  function write() {
    const id = location.hash.slice(1).split("?")[0];
    history.replaceState(null, "", address(id));
    for (const link of document.querySelectorAll("a.permalink")) link.href = address(link.dataset.figure);
  }

  // A figure for the width and the colours of the page, with linear axes where the reader wants them.
  function fitted(spec, width, stem) {
    const { data, ...rest } = spec;
    let text = JSON.stringify(rest);
    if (dark.matches) for (const [day, colour] of Object.entries(night)) text = text.replaceAll(`"${day}"`, `"${colour}"`);
    const shown = { ...JSON.parse(text), data };
    if (!shown.spec || !shown.facet) return shown;
    const beside = 86, gap = 18;
    const columns = Math.max(1, Math.min(shown.columns, Math.floor((width + gap) / (Math.min(shown.spec.width, 240) + beside + gap))));
    const room = Math.floor((width - 12 - (columns - 1) * gap) / columns) - beside;
    shown.columns = columns;
    shown.spec.width = Math.max(150, Math.min(room, spec.columns === 1 ? 1000 : 460));
    if (shown.spec.width > 600) shown.spec.height = Math.max(shown.spec.height, 320);
    delete shown.title;
    shown.config.legend = { disable: true };
    shown.config.background = "transparent";
    if (state.linear.has(stem)) for (const layer of shown.spec.layer) for (const channel of ["x", "y"]) {
      const encoding = (layer.encoding || {})[channel];
      if (!encoding || !encoding.scale || encoding.scale.type !== "log") continue;
      encoding.scale = { type: "linear", domain: [0, encoding.scale.domain[1]], nice: false };
      delete encoding.axis.values;
    }
    return shown;
  }

  // Records stand in groups: the fields that they share, the names of the others, and their values.
  function unpacked(spec) {
    if (!spec.data || !spec.data.groups) return spec;
    const values = spec.data.groups.flatMap(([shared, names, lines]) =>
      lines.map((line) => Object.assign({ ...shared }, ...names.map((name, i) => ({ [name]: line[i] })))));
    return { ...spec, data: { values: values.length ? values : [{ panel: "" }] } };
  }

  async function draw(figure) {
    const chart = figure.querySelector(".chart"), stem = figure.id;
    const known = charts.get(figure) || { spec: unpacked(JSON.parse(figure.querySelector("script[type='application/json']").textContent)) };
    charts.set(figure, known);
    known.width = chart.clientWidth;
    const { view } = await vegaEmbed(chart.firstElementChild, fitted(known.spec, known.width, stem), {
      actions: { export: { svg: true, png: true }, source: false, compiled: false, editor: false },
      ast: true, renderer: "svg", downloadFileName: stem, tooltip: { theme: dark.matches ? "dark" : "light" },
      i18n: { SVG_ACTION: "Save as SVG", PNG_ACTION: "Save as PNG" },
    });
    known.view = view;
    chart.querySelector("svg.marks").setAttribute("aria-hidden", "true"); // tables have the numbers
    const summary = chart.querySelector("summary");
    if (summary) summary.setAttribute("aria-label", "Save this figure");
    dim(known);
  }

  function dim({ view }) {
    if (view) try { view.signal("only", [...state.only]).runAsync(); } catch { /* a plugin's chart has no such signal */ }
  }

  function pick(label) {
    if (!state.only.delete(label)) state.only.add(label);
    refresh();
  }

  function refresh() {
    for (const button of document.querySelectorAll(".labels button"))
      button.setAttribute("aria-pressed", state.only.size === 0 || state.only.has(button.dataset.label));
    for (const chart of charts.values()) dim(chart);
    for (const reset of document.querySelectorAll(".labels .reset")) reset.hidden = state.only.size === 0;
    write();
  }

  function legend(figure) {
    for (const item of figure.querySelectorAll(".labels li")) {
      const button = document.createElement("button");
      button.type = "button";
      button.dataset.label = item.dataset.label;
      button.append(...item.childNodes);
      button.addEventListener("click", () => pick(item.dataset.label));
      item.append(button);
    }
    const list = figure.querySelector(".labels");
    if (!list) return;
    const item = document.createElement("li"), reset = document.createElement("button");
    reset.type = "button";
    reset.className = "reset";
    reset.textContent = "show all";
    reset.hidden = true;
    reset.addEventListener("click", () => { state.only.clear(); refresh(); });
    item.append(reset);
    list.append(item);
  }

  function tools(figure) {
    const spec = figure.querySelector("script[type='application/json']").textContent;
    const bar = figure.querySelector(".tools");
    if (!bar || !spec.includes('"type":"log"')) return;
    const button = document.createElement("button");
    button.type = "button";
    const name = () => { button.textContent = state.linear.has(figure.id) ? "logarithmic axes" : "linear axes"; };
    button.addEventListener("click", () => {
      if (!state.linear.delete(figure.id)) state.linear.add(figure.id);
      name();
      write();
      draw(figure);
    });
    name();
    bar.prepend(button);
  }

  // Tables: a click on a heading sorts, a text filters the lines.
  const MANY = 8;
  function value(cell) {
    const text = cell ? cell.firstChild ? cell.innerText.trim().split("\n")[0] : "" : "";
    const found = text.replace(/,/g, "").match(/^([<>≤≥]?)\s*(?:between\s+)?(-?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)/i);
    if (!found) return [text === "" || text === "–" ? 2 : 1, text.toLowerCase()];
    return [0, Number(found[2]) * (found[1] === "<" ? 0.999 : found[1] === ">" ? 1.001 : 1)];
  }
  function order(a, b) {
    if (a[0] !== b[0]) return a[0] - b[0];
    return a[1] < b[1] ? -1 : a[1] > b[1] ? 1 : 0;
  }
  function sortable(table) {
    const body = table.tBodies[0], lines = [...body.rows];
    if (lines.length < 2) return;
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const before = head.getAttribute("aria-sort");
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        let sorted = lines;
        if (before !== "descending") {
          const sign = before === "ascending" ? -1 : 1;
          head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
          sorted = lines.map((line) => [value(line.cells[column]), line]).sort((a, b) => a[0][0] === b[0][0] ? sign * order(a[0], b[0]) : a[0][0] - b[0][0]).map((pair) => pair[1]);
        }
        body.append(...sorted);
      });
    });
    if (lines.length < MANY) return;
    const input = document.createElement("input");
    input.type = "search";
    input.placeholder = "filter lines";
    input.setAttribute("aria-label", "Filter lines");
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/);
      for (const line of lines) line.hidden = !words.every((word) => line.textContent.toLowerCase().includes(word));
    });
    table.closest(".scroll").before(input);
  }

  read();
  document.documentElement.classList.add("scripts");
  for (const table of document.querySelectorAll("table")) if (table.tHead && table.tBodies.length) sortable(table);
  const figures = [...document.querySelectorAll("figure.picture")].filter((figure) => figure.querySelector("script[type='application/json']"));
  const near = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) if (isIntersecting) { near.unobserve(target); draw(target); }
  }, { rootMargin: "400px" });
  for (const figure of figures) { legend(figure); tools(figure); near.observe(figure); }
  refresh();
  // Those that are out of sight follow one by one, for screenshots of the whole page; those in closed parts have no width.
  addEventListener("load", async () => {
    for (const figure of figures) if (!charts.has(figure) && figure.clientWidth) {
      await draw(figure);
      await new Promise((next) => setTimeout(next));
    }
  });
  const again = () => { for (const figure of charts.keys()) draw(figure); };
  dark.addEventListener("change", again);
  let waiting = 0;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      for (const [figure, known] of charts) if (known.width !== figure.querySelector(".chart").clientWidth) draw(figure);
    }, 200);
  });
  // Printed pages have everything: closed parts are open while the page is printed.
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")].filter((part) => !part.closest(".chart"));
    for (const part of closed) part.open = true;
    for (const figure of figures) if (!charts.has(figure)) draw(figure);
  });
  addEventListener("afterprint", () => { for (const part of closed) part.open = false; });
  addEventListener("hashchange", () => { read(); refresh(); });
})();
