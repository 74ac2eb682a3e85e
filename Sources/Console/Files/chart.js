// Lines over time, as SVG.

import { element } from "./elements.js";

const SVG = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT] = [600, 150];

function drawn(tag, attributes, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  made.append(...children);
  return made;
}

/** A number that people read on an axis, at least as large, in a unit that people read. @param {number} number @param {number} unit */
function roof(number, unit) {
  if (!(number > 0)) return unit;
  const power = 10 ** Math.floor(Math.log10(number / unit)) * unit;
  return [1, 2, 2.5, 5, 10].map((step) => step * power).find((step) => step >= number * 0.9999) ?? number;
}

/**
 * @param {{title: string, lines: Array<{name: string, values: Array<number | null>}>, times: string[], say: (number: number) => string,
 *   unit?: number, empty?: string}} what at most six lines; a null is a gap
 */
export function chart({ title, lines, times, say, unit = 1, empty = "Nothing yet." }) {
  const known = lines.flatMap((line) => line.values.filter((value) => value !== null));
  const figure = element("figure", { class: "chart" });
  const last = (line) => line.values.findLast((value) => value !== null) ?? null;
  const legend = element("ul", { class: "legend" }, lines.map((line, index) =>
    element("li", {}, element("i", { class: `line-${index}`, "aria-hidden": "true" }), line.name, " ",
      element("b", {}, last(line) === null ? "–" : say(/** @type {number} */ (last(line)))))));
  const caption = element("figcaption", {}, element("h3", {}, title), lines.length > 1 || lines[0]?.name ? legend : null);
  if (times.length < 2 || !known.length) {
    figure.append(caption, element("p", { class: "nothing" }, times.length < 2 ? "The first figures come within seconds." : empty));
    return figure;
  }
  const top = roof(Math.max(...known), unit);
  const x = (index) => (index / (times.length - 1)) * WIDTH;
  const y = (value) => HEIGHT - (value / top) * HEIGHT;
  const shapes = [0.5, 1].map((share) => drawn("line", { class: "grid", x1: 0, x2: WIDTH, y1: y(top * share), y2: y(top * share) }));
  lines.forEach((line, index) => {
    let [path, dots] = ["", ""];
    let isOpen = false;
    line.values.forEach((value, place) => {
      if (value === null) { isOpen = false; return; }
      const point = `${x(place).toFixed(1)} ${y(value).toFixed(1)}`;
      // A single point is a stroke of no length, which round ends show.
      if (!isOpen && (line.values[place + 1] ?? null) === null) dots += `M${point}h0`;
      path += `${isOpen ? "L" : "M"}${point}`;
      isOpen = true;
    });
    if (dots) shapes.push(drawn("path", { class: `line-${index} dot`, d: dots }));
    if (path) shapes.push(drawn("path", { class: `line-${index}`, d: path }));
  });
  const summary = `${title}, the last ${Math.round((Date.parse(times[times.length - 1]) - Date.parse(times[0])) / 60000)} minutes. `
    + lines.map((line) => `${line.name || "Now"}: ${last(line) === null ? "nothing" : say(/** @type {number} */ (last(line)))}`).join(", ")
    + `. At most ${say(Math.max(...known))}.`;
  const clock = (text) => new Date(text).toLocaleTimeString("sv", { hour: "2-digit", minute: "2-digit" });
  figure.append(caption,
    element("div", { class: "plot" },
      element("span", { class: "top", "aria-hidden": "true" }, say(top)), element("span", { class: "middle", "aria-hidden": "true" }, say(top / 2)),
      element("span", { class: "bottom", "aria-hidden": "true" }, say(0)),
      drawn("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": summary }, ...shapes)),
    element("p", { class: "times", "aria-hidden": "true" }, element("span", {}, clock(times[0])), element("span", {}, clock(times[times.length - 1]))));
  return figure;
}
