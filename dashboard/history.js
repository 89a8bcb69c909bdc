// Series of the time charts: from /api/v1/query, or, where no history is kept, from the answers since the page was opened.

import {list, number} from './format.js';

/** window as the daemon reads it, its length, the step, and how often it is asked again. */
export const kRanges = {
  '5m': {ms: 300e3, step: 2e3, every: 4e3},
  '30m': {ms: 1800e3, step: 10e3, every: 10e3},
  '3h': {ms: 10800e3, step: 60e3, every: 30e3},
  '1d': {ms: 86400e3, step: 300e3, every: 60e3},
  '7d': {ms: 604800e3, step: 1800e3, every: 120e3},
};

/** key, selector, function, and for how long a value stands where samples come more rarely than the step. */
const kNode = [
  ['node', 'node_cpu_usage', 'mean', 0],
  ['ls', 'node_ls_cpu_usage', 'mean', 0],
  ['system', 'sys_cpu_usage', 'mean', 0],
  ['be', 'node_be{be_resource="cpu",be_allocation="usage"}', 'mean', 0],
  ['cap', 'node_be{be_resource="cpu",be_allocation="cap"}', 'mean', 0],
  ['level', 'node_pressure_level', 'max', 0],
  ['psi_cpu', 'node_psi{psi_resource="cpu",psi_precision="10",psi_degree="some"}', 'mean', 0],
  ['psi_mem', 'node_psi{psi_resource="mem",psi_precision="10",psi_degree="some"}', 'mean', 0],
  ['psi_io', 'node_psi{psi_resource="io",psi_precision="10",psi_degree="some"}', 'mean', 0],
  ['degree', 'node_interference{component="degree"}', 'max', 30e3],
  ['be_degree', 'node_interference{component="be"}', 'max', 30e3],
  ['memory', 'node_memory_usage', 'mean', 0],
  ['peak_cpu', 'node_predicted_peak_cpu', 'last', 150e3],
  ['peak_memory', 'node_predicted_peak_memory', 'last', 150e3],
];

export function podSeries(uid) {
  return [
    ['cpu', `pod_cpu_usage{pod_uid="${uid}"}`, 'mean', 90e3],
    ['degree', `pod_interference{pod_uid="${uid}",component="degree"}`, 'max', 30e3],
    ['be_degree', `pod_interference{pod_uid="${uid}",component="be"}`, 'max', 30e3],
  ];
}

/** Asks for all series with one grid. Returns {from, to, times, values: {key: [..]}}. Throws NoAnswer. */
async function ask(link, series, rangeName, now) {
  const range = kRanges[rangeName];
  const to = Math.floor(now / range.step) * range.step;
  const from = to - range.ms;
  const times = [];
  for (let t = from; t <= to; t += range.step) times.push(t);
  const values = {};
  for (const [key, query, func, hold] of series) {
    const where = new URLSearchParams({query, window: rangeName, func, step: `${range.step / 1000}s`, end: String(to), limit: '1'});
    const answer = await link.get(`/api/v1/query?${where}`);
    const item = list(answer.items)[0];
    const points = item ? list(item.points?.[func]) : [];
    const start = number(answer.start_ms) ?? from;
    let seen = null;
    let seenAt = 0;
    values[key] = times.map((t) => {
      const v = number(points[Math.round((t - start) / range.step)]);
      if (v !== null) {
        seen = v;
        seenAt = t;
      }
      return v !== null || seen === null || t - seenAt > hold ? v : seen;
    });
  }
  return {from, to, times, values};
}

export class History {
  constructor(link) {
    this.link = link;
    this.live = []; // {t, key: value, ...}: what came since the page was opened
    this.kept = true; // the daemon keeps history
  }

  /** One answer of the status. `t`: the daemon's clock. */
  note(t, values) {
    this.live.push({t, ...values});
    if (this.live.length > 5400) this.live.splice(0, this.live.length - 5400);
  }

  async node(rangeName, now) {
    try {
      const out = await ask(this.link, kNode, rangeName, now);
      this.kept = true;
      return out;
    } catch (e) {
      if (e.status !== 503) throw e;
      this.kept = false;
      return this.ofPage(rangeName, now);
    }
  }

  pod(uid, rangeName, now) {
    return ask(this.link, podSeries(uid), rangeName, now);
  }

  ofPage(rangeName, now) {
    const range = kRanges[rangeName];
    const rows = this.live.filter((r) => r.t >= now - range.ms);
    const values = {};
    for (const [key] of kNode) values[key] = rows.map((r) => number(r[key]));
    return {from: now - range.ms, to: now, times: rows.map((r) => r.t), values};
  }
}

/** Rows of a chart from a history and the keys of its columns. */
export function columns(history, keys, scale = 1) {
  return history.times.map((t, i) => [t, ...keys.map((k) => {
    const v = history.values[k]?.[i] ?? null;
    return v === null || k === 'level' ? v : v * scale;
  })]);
}
