// Draws the charts of a page with uPlot, over the picture that the server has drawn: the figures under the pointer are
// shown, and dragging zooms in. Without scripts, and on paper, the server's picture is there.
"use strict";
const HEIGHT = 220;
const drawn = new WeakMap();

const colour = (figure, number) => {
  const line = figure.querySelector(`.plot .line-${number % 6}`);
  return line ? getComputedStyle(line).color : getComputedStyle(figure).color;
};

// uPlot wants one list of x for all series.
const aligned = (series) => {
  const xs = [...new Set(series.flatMap((one) => one.points.map(([x]) => x)))].sort((a, b) => a - b);
  return [xs, ...series.map((one) => {
    const at = new Map(one.points);
    return xs.map((x) => at.get(x) ?? null);
  })];
};

const draw = (figure) => {
  const text = figure.dataset.chart;
  const before = drawn.get(figure);
  if (before && before.text === text && before.plot.root.isConnected) return;
  const spec = JSON.parse(text);
  const data = aligned(spec.series);
  if (before && before.plot.root.isConnected) {
    before.text = text;
    before.plot.setData(data);
    return;
  }
  const soft = getComputedStyle(figure.querySelector(".plot")).color;
  const line = getComputedStyle(document.documentElement).getPropertyValue("--line").trim();
  const box = document.createElement("div");
  box.className = "interactive";
  figure.append(box);
  const axis = { stroke: soft, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
  const value = (_, y) => (y === null || y === undefined ? "–" : `${Number(y.toPrecision(6))}${spec.unit ? ` ${spec.unit}` : ""}`);
  const plot = new uPlot({
    width: figure.clientWidth, height: HEIGHT, scales: { x: { time: spec.time } },
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
    axes: [axis, { ...axis, size: 60 }],
    series: [
      spec.time ? { value: "{YYYY}-{MM}-{DD} {HH}:{mm}:{ss} UTC" } : {},
      ...spec.series.map((one, n) => ({ label: one.name, stroke: colour(figure, n), width: 1.75, value, points: { show: one.points.length < 3 } })),
    ],
  }, data, box);
  drawn.set(figure, { text, plot });
  figure.classList.add("drawn");
};

const drawAll = () => { for (const figure of document.querySelectorAll("figure[data-chart]")) draw(figure); };
const fit = () => {
  for (const figure of document.querySelectorAll("figure[data-chart]")) {
    drawn.get(figure)?.plot.setSize({ width: figure.clientWidth, height: HEIGHT });
  }
};
const redraw = () => {
  for (const figure of document.querySelectorAll("figure[data-chart]")) {
    drawn.get(figure)?.plot.root.remove();
    drawn.delete(figure);
    figure.querySelector(".interactive")?.remove();
  }
  drawAll();
};
addEventListener("resize", fit);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
document.addEventListener("htmx:after:swap", drawAll);
drawAll();
