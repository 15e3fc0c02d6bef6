// Draws the charts that a page describes: JSON in #page-charts, one object for each figure. The description is that of
// tools/collsim/report/chart.h.
const { Plot } = charts;

const tones = 7;
const shapes = ["circle", "square", "triangle", "diamond", "star", "cross", "wye"];
const dashes = ["", "7 3", "2 3", "9 3 2 3"];
const colorOf = ({ tone, quiet }) => (quiet || tone < 0 ? "var(--faint)" : `var(--tone${tone % tones})`);
const shapeOf = ({ tone }) => (tone < 0 ? "circle" : shapes[tone % shapes.length]);
const dashesOf = ({ mark, tone }) => (mark === "dashes" ? "5 4" : dashes[Math.floor(Math.max(0, tone) / tones) % dashes.length]);

const digits = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 4 });
const number = (value) => digits.format(value);
function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, value)) / 10));
  return `${Number((value / 1024 ** power).toPrecision(3))} ${units[power]}`;
}

/** At most so many. */
function powersOfTwo([low, high], most) {
  const first = Math.ceil(Math.log2(low) - 1e-9);
  const last = Math.floor(Math.log2(high) + 1e-9);
  const step = [1, 2, 3, 5, 10, 20].find((each) => (last - first) / each < most) ?? 20;
  const ticks = [];
  for (let power = Math.ceil(first / step) * step; power <= last; power += step) ticks.push(2 ** power);
  return ticks.length > 0 ? ticks : [low];
}

/** 1, 10, 100, and where these are few also 2 and 5. */
function decimalTicks([low, high]) {
  const decades = Math.log10(high / low);
  const factors = decades > 3 ? [1] : decades > 1.3 ? [1, 3] : [1, 1.5, 2, 3, 4, 5, 7];
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); ++power) {
    for (const factor of factors) {
      const tick = Number((factor * 10 ** power).toPrecision(3));
      if (tick >= low * 0.999 && tick <= high * 1.001) ticks.push(tick);
    }
  }
  const every = Math.ceil(ticks.length / 9);
  return ticks.filter((_, i) => i % every === 0);
}

const isMap = (series) => series.some(({ mark }) => mark === "cells");
const isBars = (series) => series.some(({ mark }) => mark === "bars");

function valuesOf(series, axis) {
  const values = [];
  for (const { points } of series) {
    for (const point of points) {
      for (const value of axis === "y" ? [point.y, point.low, point.high] : [point.x]) {
        if (value !== undefined && value !== null) values.push(value);
      }
    }
  }
  return values;
}

const least = (values) => values.reduce((a, b) => Math.min(a, b), Infinity);
const most = (values) => values.reduce((a, b) => Math.max(a, b), -Infinity);

function rangeOf(values, isLogarithmic) {
  const low = least(values);
  const high = most(values);
  if (!isLogarithmic) return [Math.min(0, low), high > 0 ? high * 1.04 : 1];
  return low === high ? [low / 2, high * 2] : [low, high];
}

/** How long the longest word is, in pixels. */
const widthOf = (words) => 6.6 * Math.max(0, ...words.map((word) => String(word).length));

/** An axis as Plot takes it. */
function scaleOf(axis, values, length, isY) {
  const label = axis.label;
  if (axis.scale === "words") {
    return { type: isY || axis.band ? "band" : "point", domain: axis.words ?? [...new Set(values)], label, padding: axis.band ? 0.04 : 0.25 };
  }
  const logarithmic = axis.scale !== "linear";
  const domain = rangeOf(values, logarithmic);
  if (axis.scale === "bytes") {
    return { type: "log", base: 2, domain, label, ticks: powersOfTwo(domain, length / 58), tickFormat: bytes };
  }
  if (axis.scale === "counts") return { type: "log", base: 2, domain, label, ticks: powersOfTwo(domain, length / 40), tickFormat: number };
  if (logarithmic) {
    const room = (domain[1] / domain[0]) ** 0.05; // for marks at the ends
    return { type: "log", domain: [domain[0] / room, domain[1] * room], label, ticks: decimalTicks(domain), tickFormat: number };
  }
  return { domain, label, ticks: Math.max(3, Math.round(length / 70)), tickFormat: number };
}

const tip = (series, options) => {
  const points = series.flatMap(({ points: all }) => all.filter(({ text }) => text));
  const pointer = options.along === "y" ? Plot.pointerY : Plot.pointer;
  return Plot.tip(points, pointer({
    x: "x", y: "y", title: "text", fill: "var(--paper)", stroke: "var(--rule)", lineWidth: 24, maxRadius: 30,
  }));
};

/** Of a logarithmic axis: what others are held against may leave it, where it is far below or above them. */
function withoutFarReferences(series) {
  const isReference = ({ mark, tone }) => mark === "dashes" && tone < 0;
  const values = valuesOf(series.filter((each) => !isReference(each)), "y");
  if (values.length === 0) return valuesOf(series, "y");
  const far = 3;
  const [low, high] = [least(values) / far, most(values) * far];
  return [...values, ...valuesOf(series.filter(isReference), "y").map((value) => Math.min(high, Math.max(low, value)))];
}

/** What an axis has room for: the chart's series, and those of charts beside it that have the same axis of numbers. */
function onAxis({ series, beside = [], ...axes }, axis) {
  const { label, scale } = axes[axis];
  return [...series, ...beside.filter((other) => scale !== "words" && other[axis].label === label && other[axis].scale === scale)
    .flatMap((other) => other.series)];
}

/** How much of a bar's row its name takes, where there is no room for names on the left. */
const nameHeight = 17;

function drawn(series, isNarrow) {
  const { mark, points, quiet } = series;
  const color = colorOf(series);
  const at = { x: "x", y: "y" };
  const ordered = { ...at, stroke: color, strokeDasharray: dashesOf(series), strokeWidth: quiet ? 0.7 : 1.8, strokeOpacity: quiet ? 0.5 : 1 };
  const symbol = shapeOf(series);
  const labels = () => [Plot.text(points.filter(({ label }) => label), { ...at, text: "label", dy: -14, fontSize: 12, fontWeight: 600, fill: "currentColor", stroke: "var(--paper)", strokeWidth: 4 })];
  switch (mark) {
    case "line":
      if (quiet) return { shapes: [Plot.line(points, { ...ordered, strokeDasharray: "", clip: true })] };
      return { shapes: [Plot.line(points, ordered), Plot.dot(points, { ...at, fill: color, r: 2.6, symbol })], labels: labels() };
    case "dashes":
      return { shapes: [Plot.line(points, { ...ordered, clip: true })] };
    case "dots":
      return { shapes: [Plot.dot(points, { ...at, stroke: color, fill: "var(--paper)", strokeWidth: 1.8, r: 4, symbol })], labels: labels() };
    case "rings":
      return { shapes: [Plot.line(points, { ...at, stroke: color, strokeWidth: 1.2, strokeDasharray: "2 3" }), Plot.dot(points, { ...at, stroke: color, strokeWidth: 1.6, r: 8 })], labels: labels() };
    case "band":
      return { shapes: [Plot.areaY(points, { x: "x", y1: "low", y2: "high", fill: color, fillOpacity: 0.16 })] };
    case "bars":
      return {
        shapes: [
          Plot.barX(points, { x1: 0, x2: "x", y: "y", fill: color, fillOpacity: 0.8, insetTop: isNarrow ? nameHeight : 0 }),
          Plot.ruleY(points.filter(({ high }) => high !== undefined), { x1: "low", x2: "high", y: "y", dy: isNarrow ? nameHeight / 2 : 0, stroke: "currentColor", strokeWidth: 1.4, marker: "tick" }),
        ],
        labels: [
          Plot.text(points, { x: (point) => point.high ?? point.x, y: "y", text: "label", textAnchor: "start", dx: 6, dy: isNarrow ? nameHeight / 2 : 0, fontSize: 11 }),
          ...(isNarrow ? [Plot.text(points, { y: "y", text: "y", frameAnchor: "left", dy: -nameHeight / 2, fontSize: 11 })] : []),
        ],
      };
    case "cells":
      return {
        shapes: [Plot.cell(points, { ...at, fill: color, fillOpacity: (point) => point.weight ?? 1, inset: 0.5 })],
        labels: [Plot.text(points, { ...at, text: "label", fontSize: 10.5, fill: "currentColor" })],
      };
    case "hatched":
      return { shapes: [Plot.cell(points, { ...at, fill: "url(#hatching)", inset: 0.5 })] };
    default:
      throw new Error(`no mark ${mark}`);
  }
}

function sizeOf(chart, room, isNarrow) {
  const rows = new Set(valuesOf(chart.series, "y")).size;
  const columns = new Set(valuesOf(chart.series, "x")).size;
  if (isMap(chart.series)) {
    const margin = 14 + widthOf(valuesOf(chart.series, "y"));
    return { width: Math.max(Math.min(room, margin + columns * 60), margin + columns * 30), height: 52 + rows * 34, marginLeft: margin };
  }
  if (isBars(chart.series)) {
    const margin = 14 + widthOf(valuesOf(chart.series, "y"));
    if (isNarrow) return { width: Math.max(room, widthOf(valuesOf(chart.series, "y")) + 90), height: 52 + rows * 40, marginLeft: 8 };
    return { width: room, height: 52 + rows * 22, marginLeft: margin };
  }
  return { width: Math.max(room, 300), height: Math.round(Math.min(330, Math.max(230, room * 0.55))), marginLeft: 58 };
}

function plotOf(chart, room, isLogarithmic) {
  const { series } = chart;
  const map = isMap(series);
  const bars = isBars(series);
  const isNarrow = bars && room < widthOf(valuesOf(series, "y")) + 280;
  const size = sizeOf(chart, room, isNarrow);
  const inner = size.width - size.marginLeft - 40;
  const y = chart.y.scale === "words" || isLogarithmic === undefined ? chart.y
    : { ...chart.y, scale: isLogarithmic ? "logarithmic" : "linear" };
  const x = { ...chart.x, band: map };
  const along = onAxis(chart, "x");
  const xValues = bars ? [...valuesOf(along, "x"), ...along.flatMap(({ points }) => points.flatMap(({ high }) => (high === undefined ? [] : [high])))] : valuesOf(along, "x");
  const yValues = bars || map ? series.flatMap(({ points }) => points.map((point) => point.y))
    : y.scale === "logarithmic" ? withoutFarReferences(onAxis(chart, "y")) : valuesOf(onAxis(chart, "y"), "y");
  const words = x.scale === "words" ? [...new Set(xValues)] : [];
  const slanted = words.length > 0 && widthOf(words) > inner / words.length;
  const layers = [...series].sort((a, b) => (b.quiet ? 1 : 0) - (a.quiet ? 1 : 0)).map((each) => drawn(each, isNarrow));
  const marks = [...layers.flatMap(({ shapes: each }) => each), ...layers.flatMap(({ labels }) => labels ?? [])];
  const svg = Plot.plot({
    ...size,
    marginRight: bars ? 70 : 26,
    marginTop: map || bars ? 6 : 26,
    marginBottom: slanted ? 30 + Math.min(110, widthOf(words) * 0.7) : 44,
    style: { fontSize: "12px" },
    x: { ...scaleOf(x, xValues, inner, false), grid: bars, ...(slanted ? { tickRotate: -40 } : {}) },
    y: { ...scaleOf({ ...y, band: map }, yValues, size.height - 60, true), grid: !bars && !map, ...(map || bars ? { label: null } : {}), ...(isNarrow ? { axis: null } : {}) },
    marks: [...marks, tip(series, { along: bars ? "y" : "xy" })],
  });
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", chart.title);
  return svg;
}

/** Of the sample of an area: that of the darkest cell. */
function opacityOf({ mark, points }) {
  if (mark === "band") return 0.2;
  if (mark === "cells") return most(points.map(({ weight }) => weight ?? 1));
  return mark === "hatched" ? 0.5 : 0.8;
}

/** The mark of a series, for the legend. */
function sample(series) {
  const { mark } = series;
  const color = colorOf(series);
  const at = { x: [0, 1], y: [0, 0] };
  const marks = {
    line: () => [Plot.line([0, 1], { x: (d) => d, y: () => 0, stroke: color, strokeWidth: 2, strokeDasharray: dashesOf(series) }), Plot.dot([0.5], { x: (d) => d, y: () => 0, fill: color, r: 3.2, symbol: shapeOf(series) })],
    dashes: () => [Plot.line([0, 1], { x: (d) => d, y: () => 0, stroke: color, strokeWidth: 2, strokeDasharray: "5 4" })],
    dots: () => [Plot.dot([0.5], { x: (d) => d, y: () => 0, stroke: color, strokeWidth: 1.8, r: 4, symbol: shapeOf(series) })],
    rings: () => [Plot.dot([0.5], { x: (d) => d, y: () => 0, stroke: color, strokeWidth: 1.6, r: 5.5 })],
  }[mark] ?? (() => [
    Plot.rect([0], { x1: 0, x2: 1, y1: -1, y2: 1, fill: mark === "hatched" ? "var(--faint)" : color, fillOpacity: opacityOf(series) }),
    ...(mark === "hatched" ? [Plot.rect([0], { x1: 0, x2: 1, y1: -1, y2: 1, fill: "url(#hatching)" })] : []),
  ]);
  return Plot.plot({ width: 30, height: 13, margin: 1, x: { domain: [0, 1], axis: null }, y: { domain: [-1, 1], axis: null }, marks: marks(at) });
}

function toolsOf(chart, toggle) {
  const tools = document.createElement("div");
  tools.className = "tools";
  for (const series of chart.series) {
    if (!series.name || series.quiet) continue;
    const entry = document.createElement("span");
    entry.append(sample(series), series.name);
    tools.append(entry);
  }
  if (toggle) tools.append(toggle);
  return tools;
}

/** Whether a person may choose between a linear and a logarithmic axis. */
const canSwitch = (chart) =>
  !isMap(chart.series) && !isBars(chart.series) && chart.y.scale !== "words" && valuesOf(chart.series, "y").every((value) => value > 0);

function show(figure, chart) {
  const plot = document.createElement("div");
  plot.className = "plot";
  let logarithmic = canSwitch(chart) ? chart.y.scale === "logarithmic" : undefined;
  const draw = () => plot.replaceChildren(plotOf(chart, figure.clientWidth, logarithmic));
  let toggle = null;
  if (logarithmic !== undefined) {
    toggle = document.createElement("button");
    toggle.type = "button";
    const name = () => { toggle.textContent = logarithmic ? "linear scale" : "logarithmic scale"; };
    name();
    toggle.addEventListener("click", () => {
      logarithmic = !logarithmic;
      name();
      draw();
    });
  }
  figure.append(toolsOf(chart, toggle), plot);
  draw();
  return draw;
}

let descriptions;
let draws;
function drawCharts() {
  descriptions = JSON.parse(document.getElementById("page-charts").textContent);
  draws = [...document.querySelectorAll("figure[data-chart]")].map((figure) => show(figure, descriptions[Number(figure.dataset.chart)]));
}
drawCharts();
let width = document.documentElement.clientWidth;
addEventListener("resize", () => {
  if (document.documentElement.clientWidth === width) return;
  width = document.documentElement.clientWidth;
  for (const draw of draws) draw();
});
