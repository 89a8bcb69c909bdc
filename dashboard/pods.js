// The two tables of pods.

import {badge, bar, byId, el} from './dom.js';
import {UNKNOWN, at, bytes, cores, degree, list, micros, number, percent, permille, text} from './format.js';
import {Table} from './table.js';

/** A button that opens the pod's page; app.js listens for data-pod. */
export function podButton(uid, name) {
  return el('button', {type: 'button', class: 'pod', 'data-pod': uid}, name);
}

export function nameOf(pod) {
  return `${text(pod.namespace) ?? '?'}/${text(pod.name) ?? '?'}`;
}

function name(pod) {
  const phase = text(pod.phase);
  return [podButton(pod.uid, nameOf(pod)),
    pod.terminating === true ? badge('warn', 'ending') : phase !== null && phase !== 'Running' ? badge('off', phase) : null].filter(Boolean);
}

/** A degree as number and bar. */
export function meter(v, kind) {
  const d = number(v);
  if (d === null) return UNKNOWN;
  return el('span', {class: 'meter'}, el('span', {}, degree(d)), bar([{share: d / 100, kind: kind ?? (d >= 60 ? 'bad' : d >= 30 ? 'warn' : 'ls'), title: degree(d)}]));
}

function culprit(i) {
  const first = list(at(i, 'culprits'))[0];
  if (!first) return UNKNOWN;
  const label = text(first.pod) ?? 'unknown pod';
  return text(first.uid) ? podButton(first.uid, label) : label;
}

const kLsColumns = [
  {id: 'name', label: 'Pod', value: nameOf, cell: name},
  {id: 'qos', label: 'QoS', value: (p) => text(p.qos), cell: (p) => text(p.qos) ?? UNKNOWN},
  {id: 'cpu', label: 'CPU', number: true, title: 'cores', value: (p) => number(p.cpu_used_milli), cell: (p) => cores(p.cpu_used_milli)},
  {id: 'request', label: 'Request', number: true, title: 'cores', value: (p) => number(p.cpu_request_milli), cell: (p) => cores(p.cpu_request_milli)},
  {id: 'memory', label: 'Memory', number: true, value: (p) => number(p.memory_used_bytes), cell: (p) => bytes(p.memory_used_bytes)},
  {id: 'degree', label: 'Interference', number: true, value: (p) => number(p.interference_degree), cell: (p) => meter(p.interference_degree)},
  {id: 'be', label: 'By BE', number: true, title: 'the part best effort causes', value: (p) => number(at(p.hurt, 'be_degree')), cell: (p) => meter(at(p.hurt, 'be_degree'), 'be')},
  {id: 'top', label: 'Mostly', value: (p) => text(at(p.hurt, 'top')), cell: (p) => text(at(p.hurt, 'top')) ?? UNKNOWN},
  {id: 'wait', label: 'Run-queue wait p99', number: true, value: (p) => number(at(p.hurt, 'evidence', 'wait_p99_us')), cell: (p) => micros(at(p.hurt, 'evidence', 'wait_p99_us'))},
  {id: 'psi', label: 'CPU stall', number: true, title: 'share of the time in which some task waited for a CPU', value: (p) => number(at(p.hurt, 'evidence', 'psi', 'cpu', 'some_percent')), cell: (p) => percent(at(p.hurt, 'evidence', 'psi', 'cpu', 'some_percent'), 1)},
  {id: 'culprit', label: 'First suspect', cell: (p) => culprit(p.hurt)},
];

/** What the pod itself is held to: its own cap, else none. */
function capOf(p) {
  return number(p.cpu_cap_milli) !== null ? cores(p.cpu_cap_milli) : 'class';
}

const kBeColumns = [
  {id: 'name', label: 'Pod', value: nameOf, cell: name},
  {id: 'cpu', label: 'CPU', number: true, title: 'cores', value: (p) => number(p.cpu_used_milli), cell: (p) => cores(p.cpu_used_milli)},
  {id: 'cap', label: 'Cap', number: true, title: 'cores; "class": only what all of best effort shares', value: (p) => number(p.cpu_cap_milli), cell: capOf},
  {id: 'request', label: 'Request', number: true, title: 'cores', value: (p) => number(p.cpu_request_milli), cell: (p) => cores(p.cpu_request_milli)},
  {id: 'got', label: 'Got of it', number: true, title: 'CPU use of the request', value: (p) => number(at(p.progress, 'share_permille')), cell: (p) => permille(at(p.progress, 'share_permille'))},
  {id: 'throttled', label: 'Throttled', number: true, title: 'share of the periods', value: (p) => number(p.throttled_permille), cell: (p) => permille(p.throttled_permille)},
  {id: 'waited', label: 'Waited', number: true, title: 'time in which its tasks waited for a CPU', value: (p) => number(at(p.progress, 'wait_percent')), cell: (p) => percent(at(p.progress, 'wait_percent'), 1)},
  {id: 'memory', label: 'Memory', number: true, value: (p) => number(p.memory_used_bytes), cell: (p) => bytes(p.memory_used_bytes)},
  {id: 'state', label: 'State', value: (p) => (at(p.progress, 'starving') === true ? 0 : 1), cell: (p) => (at(p.progress, 'starving') === true ? badge('bad', 'starving') : badge('ok', 'fine'))},
];

/** Pods that still run or may: what is over has no figures. */
function isActive(pod) {
  return pod.phase !== 'Succeeded' && pod.phase !== 'Failed';
}

export class Pods {
  constructor() {
    const key = (p) => p.uid;
    this.ls = new Table(byId('ls-table'), {caption: 'Latency-sensitive pods', key, columns: kLsColumns, sort: {id: 'degree', down: true}, empty: 'No such pods are known yet.'});
    this.be = new Table(byId('be-table'), {caption: 'Best-effort pods', key, columns: kBeColumns, sort: {id: 'cpu', down: true}, empty: 'No best-effort pods are known yet.'});
    this.pods = [];
    for (const id of ['ls-filter', 'be-filter']) byId(id).addEventListener('input', () => this.draw());
  }

  /** pods: items of /api/v1/pods; interference: /api/v1/interference or null; total: as the daemon counts. */
  set(pods, interference) {
    const hurt = new Map(list(at(interference, 'pods')).map((p) => [p.uid, p]));
    this.pods = pods.filter((p) => text(p?.uid) !== null && isActive(p)).map((p) => ({...p, hurt: hurt.get(p.uid) ?? null}));
    this.draw();
  }

  draw() {
    for (const [table, id, best] of [[this.ls, 'ls-filter', false], [this.be, 'be-filter', true]]) {
      const wanted = byId(id).value.trim().toLowerCase();
      const mine = this.pods.filter((p) => (p.best_effort === true) === best);
      const found = mine.filter((p) => nameOf(p).toLowerCase().includes(wanted));
      table.set(found, mine.length && !found.length ? 'No pod has this in its name.' : null);
    }
  }
}
