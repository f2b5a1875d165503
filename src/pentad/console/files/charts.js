// Draws the charts of a page or a view with uPlot, over the picture that the server has drawn: the figures under the
// pointer are shown, and dragging zooms in. Without scripts, and on paper, the server's picture is there.
"use strict";
const drawCharts = (() => {
  const HEIGHT = 220;
  const COLOURS = 12;
  const DASHES = [undefined, [6, 3], [2, 3]];
  const drawn = new WeakMap();

  // A canvas knows no variables of style sheets, so colours are those of real elements.
  const colours = (figure) => {
    const probe = document.createElement("i");
    probe.hidden = true;
    figure.append(probe);
    const of = (text) => { probe.style.color = text; return getComputedStyle(probe).color; };
    const found = { soft: of("var(--soft)"), line: of("var(--line)"), bad: of("var(--bad)"), series: (n) => of(`var(--line-${n % COLOURS})`) };
    const series = Array.from({ length: COLOURS }, (_, n) => found.series(n));
    probe.remove();
    return { ...found, series };
  };

  // uPlot wants one list of x for all series. null is a gap; where a series only has no point, the line goes on.
  const aligned = (series) => {
    const xs = [...new Set(series.flatMap((one) => one.points.map(([x]) => x)))].sort((a, b) => a - b);
    return [xs, ...series.map((one) => {
      const at = new Map(one.points);
      return xs.map((x) => (at.has(x) ? at.get(x) : undefined));
    })];
  };

  // As many digits as it takes to tell the labels apart.
  const labels = (values) => {
    for (let digits = 3; digits < 10; digits += 1) {
      const format = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: digits });
      const texts = values.map((value) => format.format(value));
      if (new Set(texts).size === texts.length) return texts;
    }
    return values.map(String);
  };

  const overlay = (entry) => (plot) => {
    const { ctx, bbox } = plot;
    const { gaps, marks } = entry.spec;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.fillStyle = entry.colours.soft;
    ctx.globalAlpha = 0.16;
    for (const [begin, end] of gaps) {
      const left = plot.valToPos(begin, "x", true);
      ctx.fillRect(left, bbox.top, Math.max(1, plot.valToPos(end, "x", true) - left), bbox.height);
    }
    ctx.globalAlpha = 1;
    ctx.strokeStyle = ctx.fillStyle = entry.colours.bad;
    ctx.setLineDash([5 * devicePixelRatio, 4 * devicePixelRatio]);
    ctx.font = `${11 * devicePixelRatio}px sans-serif`;
    ctx.textAlign = "right";
    for (const [name, level] of marks) {
      const down = plot.valToPos(level, "y", true);
      ctx.beginPath();
      ctx.moveTo(bbox.left, down);
      ctx.lineTo(bbox.left + bbox.width, down);
      ctx.stroke();
      const above = down - 15 * devicePixelRatio > bbox.top;
      ctx.fillText(name, bbox.left + bbox.width - 4, above ? down - 4 : down + 12 * devicePixelRatio);
    }
    ctx.restore();
  };

  const reason = (entry) => (plot) => {
    const at = plot.cursor.left >= 0 ? plot.posToVal(plot.cursor.left, "x") : NaN;
    const gap = entry.spec.gaps.find(([begin, end]) => begin <= at && at <= end);
    entry.here.textContent = gap ? `No data: ${gap[2]}` : "";
  };

  const create = (figure, entry) => {
    entry.colours = colours(figure);
    const box = document.createElement("div");
    box.className = "interactive";
    entry.here = document.createElement("p");
    entry.here.className = "here";
    box.append(entry.here);
    figure.append(box);
    const { soft, line, series } = entry.colours;
    const day = "\n{D} {MMM}";
    const times = [
      [31536000, "{YYYY}", null, null, null, null, null, null, 1], [2419200, "{MMM}", "\n{YYYY}", null, null, null, null, null, 1],
      [86400, "{D} {MMM}", "\n{YYYY}", null, null, null, null, null, 1], [60, "{HH}:{mm}", day, null, day, null, null, null, 1],
      [1, "{HH}:{mm}:{ss}", day, null, day, null, null, null, 1],
    ];
    const axis = { stroke: soft, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
    const value = (_, y) => (y === null || y === undefined ? "–" : `${Number(y.toPrecision(6))}${entry.spec.unit ? ` ${entry.spec.unit}` : ""}`);
    // The axis is the chosen span until the reader zooms in.
    const span = (plot, low, high) => {
      const xs = plot.data[0];
      return low === xs[0] && high === xs[xs.length - 1] ? entry.spec.span : [low, high];
    };
    entry.plot = new uPlot({
      width: figure.clientWidth, height: HEIGHT,
      scales: { x: { time: entry.spec.time, range: span }, y: { range: () => entry.spec.range } },
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
      axes: [entry.spec.time ? { ...axis, values: times } : axis, { ...axis, size: 60, values: (_, splits) => labels(splits) }],
      hooks: { drawClear: [overlay(entry)], setCursor: [reason(entry)] },
      series: [
        entry.spec.time ? { value: "{YYYY}-{MM}-{DD} {HH}:{mm}:{ss} UTC" } : {},
        ...entry.spec.series.map((one, n) => ({
          label: one.name, stroke: series[n % COLOURS], dash: DASHES[Math.floor(n / COLOURS) % DASHES.length], width: 1.75, value,
          points: { show: one.points.length < 3 },
        })),
      ],
    }, aligned(entry.spec.series), box);
    entry.box = box;
    drawn.set(figure, entry);
    figure.classList.add("drawn");
  };

  const draw = (figure) => {
    const text = figure.dataset.chart;
    const entry = drawn.get(figure);
    const shown = entry?.plot.root.isConnected;
    if (shown && entry.text === text) return;
    const spec = JSON.parse(text);
    const names = JSON.stringify(spec.series.map((one) => one.name));
    if (shown && entry.names === names) {
      Object.assign(entry, { text, spec });
      entry.plot.setData(aligned(spec.series));
      return;
    }
    entry?.box.remove();
    create(figure, { text, spec, names });
  };

  const figures = () => document.querySelectorAll("figure[data-chart]");
  const drawAll = () => { for (const figure of figures()) draw(figure); };
  const fit = () => { for (const figure of figures()) drawn.get(figure)?.plot.setSize({ width: figure.clientWidth, height: HEIGHT }); };
  const redraw = () => {
    for (const figure of figures()) {
      drawn.get(figure)?.box.remove();
      drawn.delete(figure);
    }
    drawAll();
  };
  addEventListener("resize", fit);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  document.addEventListener("htmx:after:swap", drawAll);
  drawAll();
  return { drawAll, redraw };
})();
