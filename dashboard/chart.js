// One time chart: a figure with a title, a legend that reads out values, and a Dygraph canvas.

import {el, setText, setAttr} from './dom.js';
import {UNKNOWN, clock} from './format.js';

// Its legend writes styles into markup, which the page's policy forbids; ours stands beside the canvas.
const {Dygraph} = window;
Dygraph.PLUGINS = Dygraph.PLUGINS.filter((plugin) => plugin !== Dygraph.Plugins.Legend);

const all = new Set();

/** Value of a colour variable of style.css, as the canvas needs it. */
function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** After a change of the theme. */
export function repaint() {
  for (const chart of all) chart.paint();
}

/** The time under the pointer, shown by all charts that have it. */
function share(from, x) {
  for (const chart of all) if (chart !== from) chart.select(x);
}

/**
 * spec: {title, about, empty, format(v), series: [{label, colour, dash, step, fill, width}], bands, max}.
 * Colours are names of variables; `binary`: marks of the axis at powers of two; `bands`: shade MID and HIGH by the last column; `max`: least top of the axis.
 */
export class Chart {
  constructor(figure, spec) {
    this.spec = spec;
    this.rows = [];
    this.graph = null;
    this.row = null; // selected
    this.time = el('span', {class: 'when'});
    this.values = spec.series.map(() => el('span', {class: 'value'}, UNKNOWN));
    this.plot = el('div', {class: 'plot', role: 'img', tabindex: '0', 'aria-label': spec.title});
    this.note = el('p', {class: 'empty'}, spec.empty);
    this.about = el('span', {}, spec.about ?? '');
    const legend = el('ul', {class: 'legend'}, spec.series.map((s, i) =>
      el('li', {}, el('span', {class: 'swatch', 'data-colour': s.colour, 'data-dash': s.dash ? true : null, 'aria-hidden': 'true'}),
        `${s.label} `, this.values[i])),
    spec.bands ? [['mid', 'MID'], ['high', 'HIGH']].map(([band, label]) => el('li', {}, el('span', {class: 'swatch', 'data-band': band, 'aria-hidden': 'true'}), label)) : null);
    figure.replaceChildren(
      el('figcaption', {}, el('h2', {}, spec.title), el('p', {class: 'about'}, this.about, ' ', this.time)),
      legend, el('div', {class: 'plot-box'}, this.plot, this.note));
    this.plot.addEventListener('keydown', (e) => this.step(e));
    this.plot.addEventListener('blur', () => this.clear());
    all.add(this);
  }

  remove() {
    all.delete(this);
    this.graph?.destroy();
    this.graph = null;
  }

  /** rows: [milliseconds, value or null, ...], rising; with `bands` the level (0, 1, 2) comes last. */
  set(rows, from, to) {
    const width = this.spec.series.length;
    this.levels = this.spec.bands ? rows.map((r) => [r[0], r[width + 1]]) : [];
    this.rows = rows.map((r) => [new Date(r[0]), ...r.slice(1, width + 1)]);
    const known = this.rows.some((r) => r.slice(1).some((v) => v !== null));
    this.note.hidden = known;
    this.plot.hidden = !known;
    if (!known) {
      this.show(null);
      return;
    }
    const options = {file: this.rows, dateWindow: [from, to], valueRange: [0, this.top()]};
    if (this.graph) {
      this.graph.updateOptions(options);
      if (this.row !== null) this.select(this.selected);
    } else {
      this.graph = new Dygraph(this.plot, this.rows, {...this.options(), ...options});
    }
    this.show(this.row);
  }

  /** A little above the largest value, so that a flat line does not hide in the frame. */
  top() {
    let most = this.spec.max ?? 0;
    for (const r of this.rows) for (const v of r.slice(1)) if (v !== null && v > most) most = v;
    return most > 0 ? most * 1.08 : 1;
  }

  options() {
    const series = {};
    for (const s of this.spec.series) {
      series[s.label] = {
        strokeWidth: s.width ?? 2, strokePattern: s.dash ? [6, 4] : null, stepPlot: Boolean(s.step), fillGraph: Boolean(s.fill),
      };
    }
    return {
      labels: ['time', ...this.spec.series.map((s) => s.label)], series, legend: 'never', interactionModel: {}, rightGap: 8,
      fillAlpha: 0.14, drawGapEdgePoints: true, highlightCircleSize: 4, axisLabelFontSize: 12, gridLineWidth: 1,
      axes: {
        x: {drawGrid: false, pixelsPerLabel: 80, axisLabelFormatter: (d, granularity, opts, g) => this.tick(d, g)},
        y: {axisLabelWidth: 58, labelsKMG2: this.spec.binary === true, pixelsPerLabel: 36, axisLabelFormatter: (v) => this.spec.format(v)},
      },
      ...this.colours(),
      highlightCallback: (e, x) => {
        this.select(x);
        share(this, x);
      },
      unhighlightCallback: () => {
        this.clear();
      },
      underlayCallback: (context, area, g) => this.shade(context, area, g),
    };
  }

  tick(date, g) {
    const [from, to] = g.xAxisRange();
    const two = (x) => String(x).padStart(2, '0');
    const time = `${two(date.getHours())}:${two(date.getMinutes())}`;
    if (to - from <= 10 * 60e3) return `${time}:${two(date.getSeconds())}`;
    return to - from > 36 * 3600e3 && date.getHours() === 0 ? `${date.getDate()}.${date.getMonth() + 1}.` : time;
  }

  colours() {
    return {colors: this.spec.series.map((s) => colour(s.colour)), gridLineColor: colour('grid'), axisLineColor: colour('axis')};
  }

  paint() {
    if (this.graph) this.graph.updateOptions(this.colours());
  }

  /** Bands of MID and HIGH behind the lines. */
  shade(context, area, g) {
    const fills = [null, colour('band-mid'), colour('band-high')];
    for (let i = 0; i < this.levels.length; ++i) {
      const [x, level] = this.levels[i];
      const fill = level === null ? null : fills[Math.round(level)];
      if (!fill) continue;
      const until = i + 1 < this.levels.length ? this.levels[i + 1][0] : x + 1000;
      const left = Math.max(area.x, g.toDomXCoord(x));
      const right = Math.min(area.x + area.w, g.toDomXCoord(until));
      if (right <= left) continue;
      context.fillStyle = fill;
      context.fillRect(left, area.y, right - left, area.h);
    }
  }

  /** Shows the values at `x`, if there are any. */
  select(x) {
    if (!this.graph) return;
    const row = this.rows.findIndex((r) => r[0].getTime() >= x);
    if (row < 0) return;
    this.selected = x;
    this.row = row;
    this.graph.setSelection(row);
    this.show(row);
  }

  clear() {
    for (const chart of all) {
      chart.row = null;
      if (chart.graph) chart.graph.clearSelection();
      chart.show(null);
    }
  }

  /** Arrow keys move through the points. */
  step(event) {
    const moves = {ArrowLeft: -1, ArrowRight: 1, Home: -1e9, End: 1e9};
    if (event.key === 'Escape') this.clear();
    if (!(event.key in moves) || this.rows.length === 0) return;
    event.preventDefault();
    const next = Math.min(this.rows.length - 1, Math.max(0, (this.row ?? this.rows.length) + moves[event.key]));
    const x = this.rows[next][0].getTime();
    this.select(x);
    share(this, x);
  }

  /** Values of one row, or the newest known of each. */
  show(row) {
    const read = [];
    this.spec.series.forEach((s, i) => {
      let value = null;
      if (row !== null && this.rows[row]) value = this.rows[row][i + 1];
      if (row === null) for (let r = this.rows.length - 1; r >= 0 && value === null; --r) value = this.rows[r][i + 1];
      const shown = value === null ? UNKNOWN : this.spec.format(value);
      setText(this.values[i], shown);
      read.push(`${s.label} ${shown}`);
    });
    const when = row !== null && this.rows[row] ? `at ${clock(this.rows[row][0])}` : '';
    setText(this.time, when);
    setAttr(this.plot, 'aria-label', `${this.spec.title}: ${when ? `${when}, ` : 'newest values, '}${read.join(', ')}`);
  }

  setEmpty(why) {
    setText(this.note, why);
  }

  setAbout(what) {
    setText(this.about, what);
  }
}
