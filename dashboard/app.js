// Asks the daemon again and again, and hands the answers to the parts of the page.

import {Chart, repaint} from './chart.js';
import {byId, setAttr, setText} from './dom.js';
import {at, bytes, cores, degree, duration, list, number, percent, text} from './format.js';
import {History, columns, kRanges} from './history.js';
import {Link, NoAnswer, repeat} from './link.js';
import {drawNotices} from './notices.js';
import {Panels} from './panels.js';
import {PodDialog} from './pod.js';
import {Pods} from './pods.js';
import {drawTiles} from './tiles.js';

const kStatusEvery = 2000;
const kPodsEvery = 5000;
const kSlowEvery = 10000;
const kCapabilitiesEvery = 300000;
const kSilent = 6000; // after this long without an answer the page says so
const kMostPods = 2000;

const link = new Link();
const history = new History(link);
const state = {status: null, predictions: null, thresholds: null, range: stored('koordlet-range', Object.keys(kRanges)) ?? '30m', offset: 0, received: null};

function stored(key, allowed) {
  try {
    const value = localStorage.getItem(key);
    return allowed.includes(value) ? value : null;
  } catch {
    return null; // storage may be forbidden
  }
}

function store(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch { /* the choice lasts as long as the page */ }
}

/** The daemon's clock, which may differ from the browser's. */
function now() {
  return Date.now() + state.offset;
}

const level = (v) => ({NONE: 0, MID: 1, HIGH: 2})[v] ?? null;

const charts = {
  cpu: new Chart(byId('chart-cpu'), {
    title: 'BE cap against LS use', about: 'CPU, cores; shaded while pressure is MID or HIGH', format: cores, bands: true, empty: 'No samples in this time yet.',
    series: [{label: 'LS', colour: 'ls'}, {label: 'BE', colour: 'be'}, {label: 'BE cap', colour: 'cap', dash: true, step: true}, {label: 'system', colour: 'system', width: 1.5}, {label: 'node', colour: 'node', width: 1.5}],
  }),
  psi: new Chart(byId('chart-psi'), {
    title: 'Stalls of the node (PSI)', about: 'share of the time in which some task waited, mean of 10 s', format: (v) => percent(v, v < 10 ? 1 : 0), max: 10, empty: 'This kernel shows no stalls, or no samples came yet.',
    series: [{label: 'CPU', colour: 'ls'}, {label: 'memory', colour: 'memory'}, {label: 'IO', colour: 'apps'}],
  }),
  interference: new Chart(byId('chart-interference'), {
    title: 'Interference', about: 'of the pod that is hurt most, 0 to 100', format: degree, max: 20, empty: 'No latency-sensitive pod was judged in this time.',
    series: [{label: 'degree', colour: 'ls', fill: true}, {label: 'by BE', colour: 'be'}],
  }),
  forecastCpu: new Chart(byId('chart-forecast-cpu'), {
    title: 'CPU: forecast and actual', about: 'cores', format: cores, empty: 'No samples in this time yet.',
    series: [{label: 'actual', colour: 'node'}, {label: 'forecast peak', colour: 'forecast', dash: true, step: true}],
  }),
  forecastMemory: new Chart(byId('chart-forecast-memory'), {
    title: 'Memory: forecast and actual', about: 'without page cache', format: bytes, binary: true, empty: 'No samples in this time yet.',
    series: [{label: 'actual', colour: 'memory'}, {label: 'forecast peak', colour: 'forecast', dash: true, step: true}],
  }),
};
const pods = new Pods();
const panels = new Panels();
const dialog = new PodDialog(link, history, () => state.range, now);

/** Runs a request; its failure shows in the link's state and not as a fault of the page. */
async function tried(request, otherwise) {
  try {
    return await request();
  } catch (e) {
    if (!(e instanceof NoAnswer)) throw e;
    return otherwise ? otherwise(e) : null;
  }
}

async function askStatus() {
  const s = await tried(() => link.get('/api/v1/status'));
  if (s === null) return;
  state.status = s;
  state.received = new Date();
  const time = Date.parse(text(s.time) ?? '');
  if (!Number.isNaN(time)) state.offset = time - Date.now();
  history.note(now(), {
    node: at(s, 'cpu_milli', 'node_used'), ls: at(s, 'cpu_milli', 'ls_used'), be: at(s, 'cpu_milli', 'be_used'), system: at(s, 'cpu_milli', 'system_used'),
    cap: at(s, 'qos', 'be_root_cap_milli'), level: level(at(s, 'qos', 'level')), memory: at(s, 'memory_bytes', 'used'),
    degree: at(s, 'interference', 'node', 'degree'), be_degree: at(s, 'interference', 'node', 'be_degree'),
  });
  setText(byId('node-name'), text(s.node) ?? 'koordlet');
  setText(byId('version'), [`koordlet ${text(s.version) ?? ''}`, text(at(s, 'cgroup', 'version')) ? `cgroup ${s.cgroup.version}` : '', number(s.uptime_ms) === null ? '' : `up ${duration(s.uptime_ms)}`].filter(Boolean).join(' · '));
  document.title = `${text(s.node) ?? 'node'}: ${text(at(s, 'qos', 'level')) ?? 'koordlet'}`;
  drawTiles(s, state.thresholds, state.predictions);
  panels.setStatus(s);
  if (!history.kept) drawHistory(history.ofPage(state.range, now()));
}

async function askPods() {
  const [found, hurt] = await Promise.all([tried(() => link.pages('/api/v1/pods', kMostPods)), tried(() => link.get('/api/v1/interference'))]);
  if (found !== null) pods.set(found.items, hurt);
  await dialog.refresh();
}

async function askSlow() {
  const qos = await tried(() => link.get('/api/v1/qos?limit=1'));
  if (qos !== null) state.thresholds = at(qos, 'pressure');
  const audit = await tried(() => link.get('/api/v1/audit?limit=100'));
  if (audit !== null) panels.setAudit(audit);
  let why = null;
  const p = await tried(() => link.get('/api/v1/predictions?limit=100'), (e) => {
    if (e.status === 404) why = 'Forecasts are switched off (predict.enabled).';
    return null;
  });
  if (p === null && why === null) return; // silent: what is shown stays
  state.predictions = p;
  panels.setPredictions(p, why);
  const ahead = number(at(p, 'window_ms'));
  const when = ahead === null ? '' : `; forecast: the peak of the ${duration(ahead)} from then on`;
  charts.forecastCpu.setAbout(`cores${when}`);
  charts.forecastMemory.setAbout(`without page cache${when}`);
}

async function askCapabilities() {
  const c = await tried(() => link.get('/api/v1/capabilities'));
  if (c !== null) panels.setCapabilities(c);
}

function drawHistory(h) {
  charts.cpu.set(columns(h, ['ls', 'be', 'cap', 'system', 'node', 'level']), h.from, h.to);
  charts.psi.set(columns(h, ['psi_cpu', 'psi_mem', 'psi_io'], 0.1), h.from, h.to);
  charts.interference.set(columns(h, ['degree', 'be_degree']), h.from, h.to);
  charts.forecastCpu.set(columns(h, ['node', 'peak_cpu']), h.from, h.to);
  charts.forecastMemory.set(columns(h, ['memory', 'peak_memory']), h.from, h.to);
}

async function askHistory() {
  const range = state.range;
  const h = await tried(() => history.node(range, now()));
  if (h !== null && range === state.range) drawHistory(h);
}

/** Each second: for how long nothing has been heard. */
function watchLink() {
  const silence = link.silence();
  const silent = silence > kSilent;
  const node = byId('link');
  setAttr(node, 'data-state', silent ? 'bad' : state.status === null ? 'wait' : 'ok');
  setText(byId('link-text'), silent ? `no answer for ${Math.floor(silence / 1000)} s` : state.status === null ? 'connecting' : 'live');
  document.body.classList.toggle('stale', silent && state.status !== null);
  drawNotices(state.status, state.predictions, silent ? {since: state.received} : null);
}

const themes = ['auto', 'light', 'dark'];
function showTheme() {
  const theme = document.documentElement.dataset.theme;
  setText(byId('theme'), {auto: '◐ Auto', light: '☀ Light', dark: '☾ Dark'}[theme]);
  setAttr(byId('theme'), 'aria-label', `Theme: ${theme}. Switch to ${themes[(themes.indexOf(theme) + 1) % themes.length]}.`);
  repaint();
}
byId('theme').addEventListener('click', () => {
  const root = document.documentElement;
  root.dataset.theme = themes[(themes.indexOf(root.dataset.theme) + 1) % themes.length];
  store('koordlet-theme', root.dataset.theme);
  showTheme();
});
window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', repaint);

function showRange() {
  for (const button of byId('ranges').querySelectorAll('button')) setAttr(button, 'aria-pressed', String(button.dataset.range === state.range));
}

document.addEventListener('click', (e) => {
  const uid = e.target.closest?.('[data-pod]')?.dataset.pod;
  if (uid) dialog.open(uid);
});

showTheme();
showRange();
drawTiles(null, null, null);
const refreshHistory = repeat(askHistory, () => kRanges[state.range].every);
byId('ranges').addEventListener('click', (e) => {
  const range = e.target.closest('button')?.dataset.range;
  if (!range || range === state.range) return;
  state.range = range;
  store('koordlet-range', range);
  showRange();
  refreshHistory();
  dialog.refresh();
});
repeat(askStatus, () => kStatusEvery);
repeat(askPods, () => kPodsEvery + Math.min(10000, 5 * list(pods.pods).length));
repeat(askSlow, () => kSlowEvery);
repeat(askCapabilities, () => kCapabilitiesEvery);
setInterval(watchLink, 1000);
watchLink();
