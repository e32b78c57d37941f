// Tables that sort by a click on a head and filter by typing. Without this script the page is whole, only still.
"use strict";

const number = /^[−+-]?[\d,]*\.?\d+(e[−+-]?\d+)?/;

function sortKey(row, column) {
  const cell = row.cells[column];
  if (cell.dataset.value !== undefined) return Number(cell.dataset.value);
  const found = cell.textContent.trim().match(number);
  return found ? Number(found[0].replaceAll("−", "-").replaceAll(",", "")) : null;
}

function compareRows(column, direction) {
  return (first, second) => {
    const [a, b] = [sortKey(first, column), sortKey(second, column)];
    // What has no number goes last, whichever way the rest is sorted.
    if (a !== null && b !== null) return direction * (a - b);
    if (a !== null || b !== null) return a === null ? 1 : -1;
    const [left, right] = [first, second].map((row) => row.cells[column].textContent.trim());
    return direction * left.localeCompare(right, "en-GB", { numeric: true });
  };
}

// First click ascending, second descending, third the order of the page.
const nextOrder = { null: "ascending", ascending: "descending", descending: null };

function makeSortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  const bodies = [...table.tBodies].map((body) => [body, [...body.rows].filter((row) => !row.classList.contains("section"))]);
  heads.forEach((head, column) => {
    if (!head.textContent.trim()) return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const order = nextOrder[head.getAttribute("aria-sort")];
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      if (order) head.setAttribute("aria-sort", order);
      const compare = order ? compareRows(column, order === "ascending" ? 1 : -1) : () => 0;
      for (const [body, rows] of bodies) body.append(...[...rows].sort(compare));
    });
  });
}

function makeFilter(figure, table) {
  const rows = [...table.tBodies].flatMap((body) => [...body.rows]).filter((row) => !row.classList.contains("section"));
  if (rows.length < 12) return;
  const controls = document.createElement("div");
  controls.className = "controls";
  const input = document.createElement("input");
  input.type = "search";
  input.placeholder = "Filter rows";
  input.setAttribute("aria-label", "Filter rows");
  const shown = document.createElement("output");
  const buttons = [];
  let verdict = "";

  function update() {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word)) || (verdict !== "" && row.dataset.verdict !== verdict);
      count += row.hidden ? 0 : 1;
    }
    shown.value = count === rows.length ? "" : `${count} of ${rows.length} rows`;
  }

  if (figure.dataset.filter === "verdict") {
    for (const name of ["", "supported", "not supported", "undecided", "not testable here"]) {
      const count = rows.filter((row) => name === "" || row.dataset.verdict === name).length;
      if (count === 0) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = `${name === "" ? "All" : name[0].toUpperCase() + name.slice(1)} ${count}`;
      button.setAttribute("aria-pressed", String(name === ""));
      button.addEventListener("click", () => {
        verdict = name;
        buttons.forEach((other) => other.setAttribute("aria-pressed", String(other === button)));
        update();
      });
      buttons.push(button);
    }
  }
  input.addEventListener("input", update);
  controls.append(...buttons, input, shown);
  figure.querySelector("figcaption").after(controls);
}

for (const figure of document.querySelectorAll("figure.table:not([data-still])")) {
  const table = figure.querySelector("table");
  makeSortable(table);
  makeFilter(figure, table);
}

// A link may lead into a folded part.
function unfold() {
  const target = location.hash.length > 1 ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
  if (!target) return;
  const inside = target.querySelector(":scope > details.part");
  if (inside) inside.open = true;
  for (let part = target.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
  target.scrollIntoView();
}
addEventListener("hashchange", unfold);
unfold();

let closed = [];
addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll("details:not([open])")];
  closed.forEach((element) => (element.open = true));
});
addEventListener("afterprint", () => closed.forEach((element) => (element.open = false)));
