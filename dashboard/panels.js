// Evictions, decisions, inputs, forecasts and capabilities.

import {badge, byId, el, fill, setText} from './dom.js';
import {UNKNOWN, ago, at, bytes, clock, cores, count, duration, list, number, percent, ratio, text} from './format.js';
import {podButton} from './pods.js';
import {Table} from './table.js';

const plain = (key) => (r) => text(r[key]) ?? UNKNOWN;

function amounts(rule) {
  return list(rule.amounts).map((a) => {
    const as = a.resource === 'memory' ? bytes : cores;
    return `${text(a.resource) ?? '?'}: lacks ${as(a.need)}, on its way out ${as(a.pending)}, reachable ${as(a.reachable)}`;
  }).join('; ');
}

const kRules = [
  {id: 'plugin', label: 'Rule', cell: plain('plugin')},
  {id: 'phase', label: 'Now', cell: (r) => [text(r.phase) ?? UNKNOWN, text(r.why) ? el('span', {class: 'quiet block'}, r.why) : null, list(r.amounts).length ? el('span', {class: 'quiet block'}, amounts(r)) : null].filter(Boolean)},
  {id: 'use', label: 'Use', number: true, cell: (r) => percent(r.use_percent, 1)},
  {id: 'candidates', label: 'Candidates', number: true, title: 'pods that may be evicted now', cell: (r) => count(r.candidates)},
];

const kEvictions = [
  {id: 'time', label: 'When', cell: (e) => clock(e.time)},
  {id: 'pod', label: 'Pod', cell: (e) => text(e.pod) ?? UNKNOWN},
  {id: 'outcome', label: 'Outcome', cell: (e) => [badge(e.outcome === 'evicted' ? 'ok' : 'warn', text(e.outcome) ?? 'unknown'), text(e.detail) ? el('span', {class: 'quiet block'}, e.detail) : null].filter(Boolean)},
  {id: 'reason', label: 'Why', cell: plain('reason')},
];

/** What an audit event did, in one line. */
function deed(e) {
  const where = [text(e.cgroup), text(e.file), text(e.item)].filter(Boolean).join(' ');
  const change = text(e.before) || text(e.after) ? `${text(e.before) ?? '?'} → ${text(e.after) ?? '?'}` : '';
  return [change ? el('span', {class: 'code'}, change) : null, where ? el('span', {class: 'quiet block code'}, where) : null,
    text(e.detail) ? el('span', {class: 'quiet block'}, e.detail) : null].filter(Boolean);
}

const kKinds = {written: 'ok', restored: 'ok', refused: 'bad', eviction: 'warn', ineffective: 'warn', starvation: 'warn'};
const kAudit = [
  {id: 'time', label: 'When', cell: (e) => clock(e.time)},
  {id: 'kind', label: 'What', cell: (e) => badge(kKinds[e.kind] ?? 'info', text(e.kind) ?? UNKNOWN)},
  {id: 'deed', label: 'Change', cell: deed},
  {id: 'why', label: 'Why', cell: (e) => [text(e.plugin) ?? '', text(e.reason) ? el('span', {class: 'quiet block'}, e.reason) : null].filter(Boolean)},
];

const kInputs = [
  {id: 'name', label: 'Input', cell: plain('name')},
  {id: 'age', label: 'Age', number: true, cell: (i) => (number(i.age_ms) === null ? 'never' : duration(i.age_ms))},
  {id: 'state', label: 'State', cell: (i) => [i.state, text(i.fault) ? el('span', {class: 'quiet block'}, i.fault) : null].filter(Boolean)},
];

const kStates = {ok: 'ok', unsupported: 'off', failed: 'bad'};
const kSources = [
  {id: 'name', label: 'Collector', cell: plain('name')},
  {id: 'age', label: 'Last value', number: true, cell: (i) => ago(i.last_ok_age_ms)},
  {id: 'state', label: 'State', cell: (i) => [badge(kStates[i.state] ?? 'info', text(i.state) ?? 'unknown'), text(i.fault) ? el('span', {class: 'quiet block'}, i.fault) : null].filter(Boolean)},
];

const kForecasts = [
  {id: 'name', label: 'Of', cell: (p) => (p.uid ? podButton(p.uid, p.name) : p.name)},
  {id: 'cpu', label: 'CPU peak', number: true, title: 'cores', cell: (p) => cores(at(p, 'cpu', 'peak_milli'))},
  {id: 'memory', label: 'Memory peak', number: true, cell: (p) => bytes(at(p, 'memory', 'peak_bytes'))},
  {id: 'rule', label: 'Rule', cell: (p) => [text(at(p, 'cpu', 'rule')) ?? UNKNOWN, at(p, 'cpu', 'cold') === true ? badge('off', 'learning') : null].filter(Boolean)},
  {id: 'within', label: 'Within 20 %', number: true, title: 'share of CPU forecasts within 20 % of the peak that came', cell: (p) => ratio(at(p, 'cpu', 'score', 'within_ratio'))},
  {id: 'missed', label: 'Exceeded', number: true, title: 'share of CPU forecasts that the peak went above', cell: (p) => ratio(at(p, 'cpu', 'score', 'violation_ratio'))},
];

const kCapabilities = [
  {id: 'name', label: 'Missing', cell: plain('name')},
  {id: 'detail', label: 'Found', cell: plain('detail')},
  {id: 'advice', label: 'What to do', cell: (c) => text(c.advice) ?? 'nothing: this machine cannot have it'},
];

/** Names with what was found, for things that are as they should be. */
function chips(entries) {
  return el('ul', {class: 'chips'}, entries.map(([name, detail]) => el('li', {}, el('span', {class: 'sign', 'aria-hidden': 'true'}, '✓ '), name, detail ? el('span', {class: 'quiet'}, ` ${detail}`) : null)));
}

export class Panels {
  constructor() {
    const table = (id, caption, columns, key, empty) => new Table(byId(id), {caption, columns, key, empty});
    this.rules = table('evict-rules', 'Eviction rules', kRules, (r) => r.plugin, 'Nothing is known yet.');
    this.recent = table('evict-recent', 'Latest evictions', kEvictions, (e) => `${e.uid} ${e.time} ${e.outcome}`, 'No pod was evicted since the start.');
    this.audit = table('audit', 'Decisions', kAudit, (e) => String(e.seq), 'Nothing was decided since the start.');
    this.inputs = table('inputs', 'Inputs', kInputs, (i) => i.name, 'Nothing is known yet.');
    this.sources = table('sources', 'Collectors', kSources, (s) => s.name, 'Nothing is known yet.');
    this.predictions = table('predictions', 'Forecasts', kForecasts, (p) => p.uid ?? p.name, 'No forecasts yet: a forecast needs an hour of data.');
    this.capabilities = table('capabilities', 'Capabilities', kCapabilities, (c) => c.name, 'Nothing is known yet.');
  }

  setStatus(s) {
    this.rules.set(list(at(s, 'eviction', 'rules')));
    this.recent.set(list(at(s, 'eviction', 'recent')));
    const counts = Object.entries(at(s, 'eviction', 'counts') ?? {}).filter(([, v]) => number(v));
    setText(byId('evict-about'), counts.length ? `Since the start: ${counts.map(([k, v]) => `${k.replaceAll('_', ' ')} ${v}`).join(', ')}.` : 'None was tried since the start.');
    const inputs = list(at(s, 'inputs')).map((i) => ({...i, state: i.stale === true ? badge('bad', 'stale') : badge('ok', 'fresh')}));
    for (const r of list(at(s, 'resources'))) {
      const state = text(r.fault) ? badge('bad', 'failed') : r.cached === true ? badge('warn', 'from cache') : r.synced === true ? badge('ok', 'synced') : badge('warn', 'not synced');
      inputs.push({name: `${text(r.name) ?? '?'} (followed)`, age_ms: r.age_ms, fault: r.fault, state});
    }
    const api = at(s, 'api');
    if (api !== null) inputs.push({name: `API server ${text(api.server) ?? ''}`, age_ms: api.last_ok_age_ms, fault: api.fault, state: text(api.fault) ? badge('bad', 'failed') : badge('ok', 'answers')});
    this.inputs.set(inputs);
    const sources = list(at(s, 'sources'));
    const good = sources.filter((x) => x.state === 'ok');
    const rank = (x) => (x.state === 'failed' ? 0 : 1);
    this.sources.set(sources.filter((x) => x.state !== 'ok').sort((a, b) => rank(a) - rank(b)), sources.length ? 'All that this machine offers give values.' : null);
    fill(byId('sources-ok'), chips(good.map((x) => [text(x.name) ?? '?', ago(x.last_ok_age_ms)])));
    const standing = text(at(s, 'eviction', 'standing'));
    setText(byId('evict-standing'), standing ?? '');
  }

  setAudit(a) {
    this.audit.set(list(at(a, 'events')));
  }

  /** p: the answer, or null with the reason why there is none. */
  setPredictions(p, why) {
    const rows = [];
    const add = (name, v, uid) => {
      if (v !== null && v !== undefined) rows.push({...v, name, uid: uid ?? null});
    };
    add('Node', at(p, 'node'));
    add('System', at(p, 'system'));
    for (const c of list(at(p, 'classes'))) add(`Class ${text(c.name) ?? '?'}`, c);
    for (const x of list(at(p, 'pods'))) add(text(x.pod) ?? text(x.uid) ?? '?', x, text(x.uid));
    this.predictions.set(rows, why);
    const r = at(p, 'prod_reclaimable');
    const lent = r === null ? '' : ` Reclaimable from prod: ${cores(r.cpu_milli)} cores, ${bytes(r.memory_bytes)}.`;
    setText(byId('predict-about'), p === null ? 'Peaks to come, and how good the forecasts before them were.' : `Peaks of the next ${duration(p.window_ms)}, and how good the forecasts before them were.${lent}`);
  }

  setCapabilities(c) {
    const items = list(at(c, 'items'));
    const found = items.filter((i) => i.available === true);
    this.capabilities.set(items.filter((i) => i.available !== true), 'Nothing is missing.');
    fill(byId('caps-ok'), chips(found.map((i) => [text(i.name) ?? '?', text(i.detail)])));
    setText(byId('caps-about'), items.length ? `${found.length} of ${items.length} are there. What is missing switches off only what needs it.` : '');
  }
}

/** A list of facts: [[name, value], ...]; null leaves an entry out. */
export function facts(...entries) {
  return el('dl', {class: 'facts'}, entries.filter(Boolean).map(([n, v]) => el('div', {}, el('dt', {}, n), el('dd', {}, v))));
}
