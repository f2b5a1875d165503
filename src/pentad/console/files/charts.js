// Draws the charts of a page or a view with uPlot in place of the server's pictures: hovering shows the figures, and
// dragging zooms in. Without scripts, and on paper, the server's picture stays.
"use strict";
const drawCharts = (() => {
  const HEIGHT = 220;
  const COLOURS = 12;
  const DASHES = [undefined, [6, 3], [2, 3]];
  const drawn = new WeakMap();

  // A canvas does not resolve CSS variables, so read the colours from a real element.
  const colours = (figure) => {
    const probe = document.createElement("i");
    probe.hidden = true;
    figure.append(probe);
    const of = (text) => { probe.style.color = text; return getComputedStyle(probe).color; };
    const series = Array.from({ length: COLOURS }, (_, n) => of(`var(--line-${n})`));
    const found = { soft: of("var(--soft)"), line: of("var(--line)"), bad: of("var(--bad)"), series };
    probe.remove();
    return found;
  };

  // uPlot needs one list of x for all series. null is a gap; undefined is no point, and the line goes on.
  const aligned = (series) => {
    const xs = [...new Set(series.flatMap((one) => one.points.map(([x]) => x)))].sort((a, b) => a - b);
    return [xs, ...series.map((one) => {
      const at = new Map(one.points);
      return xs.map((x) => (at.has(x) ? at.get(x) : undefined));
    })];
  };

  // 1,500,000,000 is "1.5 G", as on the server: "1.5B" reads like bytes.
  const SCALES = { K: " k", M: " M", B: " G", T: " T" };
  const short = (value, digits, unit) => {
    const format = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: digits });
    const text = format.format(value).replace(/[KMBT]$/, (mark) => SCALES[mark]);
    return unit === "B" ? text + (/[kMGT]$/.test(text) ? "B" : " B") : text;
  };

  // As many digits as it takes to tell the labels apart.
  const labels = (values, unit) => {
    for (let digits = 3; digits < 10; digits += 1) {
      const texts = values.map((value) => short(value, digits, unit));
      if (new Set(texts).size === texts.length) return texts;
    }
    return values.map(String);
  };

  const written = (value, unit) => {
    if (value === null || value === undefined) return "–";
    if (unit === "B") return short(value, 6, unit);
    return `${Number(value.toPrecision(6))}${unit === "%" ? "%" : unit ? ` ${unit}` : ""}`;
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
    const height = 13 * devicePixelRatio;
    const names = [];
    for (const [name, level] of marks) {
      const down = plot.valToPos(level, "y", true);
      ctx.beginPath();
      ctx.moveTo(bbox.left, down);
      ctx.lineTo(bbox.left + bbox.width, down);
      ctx.stroke();
      const y = down - height > bbox.top ? down - 4 : down + height;
      const right = Math.min(bbox.left + bbox.width - 4, ...names.filter((one) => Math.abs(one.y - y) < height).map((one) => one.left - 8));
      ctx.fillText(name, right, y);
      names.push({ y, left: right - ctx.measureText(name).width });
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
    const value = (_, y) => written(y, entry.spec.unit);
    // Wide enough for labels such as "34.5 GB".
    const widest = (_, texts) => Math.max(60, 16 + 8 * Math.max(0, ...(texts ?? []).map((one) => one.length)));
    // The axis is the chosen span until the reader zooms in.
    const span = (plot, low, high) => {
      const xs = plot.data[0];
      return low === xs[0] && high === xs[xs.length - 1] ? entry.spec.span : [low, high];
    };
    entry.plot = new uPlot({
      width: figure.clientWidth, height: HEIGHT,
      scales: { x: { time: entry.spec.time, range: span }, y: { range: () => entry.spec.range } },
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
      axes: [entry.spec.time ? { ...axis, values: times } : axis, { ...axis, size: widest, values: (_, splits) => labels(splits, entry.spec.unit) }],
      hooks: { drawClear: [overlay(entry)], setCursor: [reason(entry)] },
      series: [
        entry.spec.time ? { value: "{YYYY}-{MM}-{DD} {HH}:{mm}:{ss} UTC" } : {},
        ...entry.spec.series.map((one) => ({
          label: one.name, stroke: series[one.colour], dash: DASHES[one.dash], width: 1.75, value,
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
