// The row of figures at the top: what holds now.

import {badge, bar, byId, el, fill} from './dom.js';
import {UNKNOWN, ago, at, bytes, cores, count, degree, number, percent, permille, text} from './format.js';

const kLevels = {NONE: 'ok', MID: 'warn', HIGH: 'bad'};

export function levelBadge(level) {
  return level === null ? badge('off', 'unknown') : badge(kLevels[level] ?? 'info', level);
}

function share(part, whole) {
  const [p, w] = [number(part), number(whole)];
  return p === null || w === null || w <= 0 ? null : p / w;
}

function tile(id, title, value, unit, ...rest) {
  return el('article', {class: 'tile', id: `tile-${id}`},
    el('h2', {}, title), el('p', {class: 'big'}, el('strong', {'data-value': id}, value), unit ? ` ${unit}` : ''), ...rest);
}

function lines(...entries) {
  return el('dl', {class: 'small'}, entries.filter(Boolean).map(([name, value, key, kind]) =>
    el('div', {}, el('dt', {}, kind ? el('span', {class: 'swatch', 'data-colour': kind, 'aria-hidden': 'true'}) : null, name), el('dd', {'data-value': key}, value))));
}

function pressure(s, thresholds) {
  const level = text(at(s, 'qos', 'level'));
  const use = number(at(s, 'qos', 'node_use_percent'));
  const marks = [];
  const [mid, high] = [number(at(thresholds, 'mid_percent')), number(at(thresholds, 'high_percent'))];
  if (mid !== null) marks.push({share: mid / 100, title: `MID from ${mid} %`});
  if (high !== null) marks.push({share: high / 100, title: `HIGH from ${high} %`});
  return el('article', {class: 'tile', id: 'tile-pressure'},
    el('h2', {}, 'Pressure'), el('p', {class: 'big', 'data-value': 'level'}, levelBadge(level)),
    bar([{share: use === null ? null : use / 100, kind: level === 'HIGH' ? 'bad' : level === 'MID' ? 'warn' : 'node', title: `node use ${percent(use, 1)}`}], marks),
    lines(['Node use', percent(use, 1), 'use'],
      ['MID, HIGH from', `${number(mid) ?? UNKNOWN}, ${percent(high)}`, 'thresholds'],
      ['Since', ago(at(s, 'qos', 'level_age_ms')), 'level-age']));
}

function cpu(s, predictions) {
  const c = at(s, 'cpu_milli');
  const of = (key) => share(at(c, key), at(c, 'capacity'));
  const apps = number(at(c, 'host_apps_used'));
  return tile('cpu', 'Node CPU', cores(at(c, 'node_used')), `of ${cores(at(c, 'capacity'))} cores`,
    bar([{share: of('ls_used'), kind: 'ls', title: 'LS'}, {share: of('be_used'), kind: 'be', title: 'BE'},
      {share: of('host_apps_used'), kind: 'apps', title: 'host applications'}, {share: of('system_used'), kind: 'system', title: 'system'}]),
    lines(['LS pods', cores(at(c, 'ls_used')), 'ls', 'ls'], ['BE pods', cores(at(c, 'be_used')), 'be', 'be'],
      apps ? ['Host apps', cores(apps), 'apps', 'apps'] : null, ['System', cores(at(c, 'system_used')), 'system', 'system'],
      ['Forecast peak', cores(at(predictions, 'node', 'cpu', 'peak_milli')), 'cpu-peak']));
}

function cap(s) {
  const limit = number(at(s, 'qos', 'be_root_cap_milli'));
  const used = number(at(s, 'cpu_milli', 'be_used'));
  const none = s !== null && at(s, 'qos', 'level') !== null && limit === null;
  return tile('cap', 'BE cap', none ? 'none' : cores(limit), limit === null ? '' : 'cores',
    bar([{share: share(used, limit ?? at(s, 'cpu_milli', 'capacity')), kind: 'be', title: `BE uses ${cores(used)}`}]),
    lines(['BE uses', cores(used), 'be-used', 'be'],
      limit === null ? null : ['From LS use', cores(at(s, 'qos', 'cap_ls_used_milli')), 'cap-ls', 'ls'],
      limit === null ? null : ['and system', cores(at(s, 'qos', 'cap_system_used_milli')), 'cap-system', 'system'],
      ['Of a request', permille(at(s, 'qos', 'factor_permille')), 'factor']));
}

function memory(s, predictions) {
  const m = at(s, 'memory_bytes');
  const part = share(at(m, 'used'), at(m, 'total'));
  const [value, unit] = bytes(at(m, 'used')).split(' ');
  return tile('memory', 'Memory', value, `${unit ?? ''} of ${bytes(at(m, 'total'))}`,
    bar([{share: part, kind: 'memory', title: 'used'}]),
    lines(['Used', part === null ? UNKNOWN : percent(part * 100, 1), 'memory-share'],
      ['Evictions tried', count(evictions(s)), 'evictions'],
      ['Forecast peak', bytes(at(predictions, 'node', 'memory', 'peak_bytes')), 'memory-peak']));
}

export function evictions(s) {
  const counts = at(s, 'eviction', 'counts');
  if (counts === null || typeof counts !== 'object') return null;
  return Object.values(counts).reduce((sum, v) => sum + (number(v) ?? 0), 0);
}

function interference(s) {
  const n = at(s, 'interference', 'node');
  const worst = text(at(n, 'pod'));
  const uid = text(at(n, 'pod_uid'));
  const d = number(at(n, 'degree'));
  return tile('interference', 'Interference', degree(d), 'of 100',
    bar([{share: d === null ? null : d / 100, kind: d >= 60 ? 'bad' : d >= 30 ? 'warn' : 'ls', title: 'degree'}]),
    lines(['Caused by BE', degree(at(n, 'be_degree')), 'be-degree', 'be'],
      ['Worst pod', worst === null ? UNKNOWN : uid === null ? worst : el('button', {type: 'button', class: 'pod', 'data-pod': uid}, worst), 'worst'],
      ['By', text(at(n, 'top')) ?? UNKNOWN, 'top']));
}

function pods(s) {
  const starving = at(s, 'starvation', 'starving');
  return tile('pods', 'Pods', count(at(s, 'pods', 'active')), 'active',
    lines(['Best effort', count(at(s, 'pods', 'best_effort')), 'best-effort', 'be'],
      ['Starving', Array.isArray(starving) ? count(starving.length) : UNKNOWN, 'starving'],
      ['Files held', count(at(s, 'files', 'held')), 'held'],
      ['contested', count(at(s, 'files', 'contested')), 'contested']));
}

/** s: the status; thresholds: `pressure` of /api/v1/qos; predictions: /api/v1/predictions. Each may be null. */
export function drawTiles(s, thresholds, predictions) {
  fill(byId('tiles'), pressure(s, thresholds), cpu(s, predictions), cap(s), memory(s, predictions), interference(s), pods(s));
}
