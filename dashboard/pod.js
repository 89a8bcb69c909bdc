// The dialog of one pod: why it gets the CPU it gets, who disturbs it, and its last hours.

import {Chart} from './chart.js';
import {badge, byId, el, fill, setText} from './dom.js';
import {UNKNOWN, ago, at, bytes, clock, cores, degree, duration, list, micros, number, percent, permille, text} from './format.js';
import {columns} from './history.js';
import {facts} from './panels.js';
import {podButton} from './pods.js';

const kParts = ['facts', 'why', 'limits', 'hurt', 'containers', 'decisions'];

function section(title, ...content) {
  return [el('h3', {}, title), ...content];
}

/** A small table without sorting. rows: lists of cells. */
function grid(caption, heads, rows) {
  return el('div', {class: 'scroll'}, el('table', {role: 'table'}, el('caption', {class: 'hidden'}, caption),
    el('thead', {role: 'rowgroup'}, el('tr', {role: 'row'}, heads.map((h) => el('th', {role: 'columnheader', scope: 'col'}, h)))),
    el('tbody', {role: 'rowgroup'}, rows.map((r) => el('tr', {role: 'row'}, r.map((c, i) => el('td', {role: 'cell', 'data-label': heads[i]}, c)))))));
}

function drawFacts(p) {
  return facts(['QoS', `${text(p.qos) ?? UNKNOWN} (Kubernetes ${text(p.kube_qos) ?? UNKNOWN})`], ['Phase', text(p.phase) ?? UNKNOWN],
    ['CPU', `${cores(p.cpu_used_milli)} of ${cores(p.cpu_request_milli)} cores requested`], ['Memory', bytes(p.memory_used_bytes)],
    ['Throttled', permille(p.throttled_permille)], ['CPU stall', percent(at(p, 'psi', 'cpu', 'some_percent'), 1)],
    ['Memory stall', percent(at(p, 'psi', 'memory', 'some_percent'), 1)], ['IO stall', percent(at(p, 'psi', 'io', 'some_percent'), 1)],
    at(p, 'progress') === null ? null : ['Got of its request', permille(at(p, 'progress', 'share_permille'))],
    ['Measured', `${ago(p.sample_age_ms)}, from ${text(p.source) ?? 'nowhere'}`], ['UID', el('span', {class: 'code'}, text(p.uid) ?? UNKNOWN)],
    ['Cgroup', el('span', {class: 'code'}, text(p.cgroup) ?? UNKNOWN)]);
}

function drawWhy(x) {
  const out = [];
  const b = at(x, 'binding');
  if (b !== null)
    out.push(el('p', {}, `It is held to ${cores(b.limit_milli)} cores by ${text(b.owner) ?? 'nobody'} (${text(b.by) ?? '?'} ${text(b.cgroup) ?? ''}).`));
  const reasons = list(at(x, 'why_no_caps'));
  if (reasons.length) out.push(el('p', {}, 'No cap of koordlet is on it:'), el('ul', {}, reasons.map((r) => el('li', {}, r))));
  const next = list(at(x, 'level', 'changes_when'));
  if (next.length) out.push(el('p', {}, `Pressure is ${text(at(x, 'level', 'level')) ?? UNKNOWN}; it changes when:`), el('ul', {}, next.map((r) => el('li', {}, r))));
  const notes = list(at(x, 'notes'));
  if (notes.length) out.push(el('p', {}, 'Odd about it:'), el('ul', {}, notes.map((r) => el('li', {}, r))));
  const evict = list(at(x, 'eviction'));
  if (evict.length) {
    out.push(grid('Eviction', ['Eviction rule', 'May it be evicted?', 'Why not'], evict.map((e) => [text(e.plugin) ?? UNKNOWN,
      e.candidate === true ? badge('warn', 'yes') : badge('ok', 'no'), text(e.why_not) ?? ''])));
  }
  return section('Why it gets this CPU', ...(out.length ? out : [el('p', {class: 'empty'}, 'Nothing is known yet.')]));
}

function drawLimits(x) {
  const path = list(at(x, 'cpu_path'));
  const caps = [...list(at(x, 'caps')), ...list(at(x, 'class_caps'))];
  const wanted = list(at(x, 'wanted'));
  const code = (v) => el('span', {class: 'code'}, text(v) ?? UNKNOWN);
  return section('Limits, from the pod up',
    path.length ? grid('Limits', ['Cgroup', 'Limit', 'By'], path.map((l) => [code(l.cgroup), `${cores(l.limit_milli)}`, text(l.owner) ?? UNKNOWN])) : el('p', {class: 'empty'}, 'Its cgroup is not known yet.'),
    caps.length ? grid('Held files', ['File', 'Value', 'By', 'Why'], caps.map((c) => [code(`${text(c.cgroup) ?? ''} ${text(c.file) ?? ''}`), code(c.value), text(c.plugin) ?? UNKNOWN, text(c.reason) ?? UNKNOWN])) : null,
    wanted.length ? el('p', {}, 'Decided, not in the kernel:') : null,
    wanted.length ? grid('Wanted', ['File', 'Value', 'By', 'Why'], wanted.map((c) => [code(`${text(c.cgroup) ?? ''} ${text(c.file) ?? ''}`), code(c.value), text(c.plugin) ?? UNKNOWN, text(c.reason) ?? UNKNOWN])) : null);
}

function drawHurt(i) {
  if (i === null) return section('Interference', el('p', {class: 'empty'}, 'It is not judged: best effort is not, and others need a window of data.'));
  const e = at(i, 'evidence');
  const suspects = list(i.culprits);
  return section('Interference',
    facts(['Degree', `${degree(i.degree)} (${text(i.level) ?? UNKNOWN})`], ['Caused by BE', degree(i.be_degree)],
      ['CPU', degree(at(i, 'components', 'cpu'))], ['Caches', degree(at(i, 'components', 'micro'))],
      ['Memory', degree(at(i, 'components', 'memory'))], ['IO', degree(at(i, 'components', 'io'))],
      ['Run-queue wait p50 / p95 / p99', [at(e, 'wait_p50_us'), at(e, 'wait_p95_us'), at(e, 'wait_p99_us')].map(micros).join(' / ')],
      ['of it behind BE', micros(at(e, 'behind_best_effort_us'))], ['Window', duration(at(e, 'window_ms'))], ['Judged', ago(i.age_ms)],
      list(i.missing).length ? ['No signal from', list(i.missing).join(', ')] : null),
    suspects.length ? grid('Suspects', ['Suspect', 'Score', 'CPU', 'Windows'], suspects.map((c) => [
      text(c.uid) ? podButton(c.uid, text(c.pod) ?? c.uid) : text(c.pod) ?? UNKNOWN, number(c.score) === null ? UNKNOWN : c.score.toFixed(2), cores(c.cpu_used_milli), String(number(c.windows) ?? UNKNOWN)])) : null);
}

function drawContainers(p) {
  const rows = list(p.containers).map((c) => [text(c.name) ?? UNKNOWN, c.running === true ? badge('ok', 'running') : badge('off', 'not running'),
    cores(at(c, 'usage', 'cpu_used_milli')), bytes(at(c, 'usage', 'memory_used_bytes')), permille(at(c, 'usage', 'throttled_permille')), text(at(c, 'usage', 'source')) ?? UNKNOWN]);
  const labels = Object.entries({...(at(p, 'labels') ?? {}), ...(at(p, 'annotations') ?? {})});
  return section('Containers',
    rows.length ? grid('Containers', ['Container', 'State', 'CPU', 'Memory', 'Throttled', 'Read from'], rows) : el('p', {class: 'empty'}, 'None is known.'),
    labels.length ? el('details', {}, el('summary', {}, `Labels and annotations (${labels.length})`), el('dl', {class: 'labels'}, labels.map(([k, v]) => el('div', {}, el('dt', {}, k), el('dd', {}, v))))) : null);
}

function drawDecisions(x) {
  const rows = list(at(x, 'decisions')).map((d) => [clock(d.time), text(d.kind) ?? UNKNOWN,
    el('span', {class: 'code'}, text(d.before) || text(d.after) ? `${text(d.before) ?? '?'} → ${text(d.after) ?? '?'}` : text(d.detail) ?? ''), text(d.reason) ?? text(d.plugin) ?? '']);
  return section('Decisions', rows.length ? grid('Decisions', ['When', 'What', 'Change', 'Why'], rows) : el('p', {class: 'empty'}, 'None concerned it since the start.'));
}

export class PodDialog {
  /** range(): name of the time range; now(): the daemon's clock. */
  constructor(link, history, range, now) {
    Object.assign(this, {link, history, range, now});
    this.dialog = byId('pod');
    this.uid = null;
    this.charts = [];
    byId('pod-close').addEventListener('click', () => this.dialog.close());
    this.dialog.addEventListener('click', (e) => {
      if (e.target === this.dialog) this.dialog.close(); // beside the box
    });
    this.dialog.addEventListener('close', () => this.leave());
  }

  open(uid) {
    if (this.uid === uid) return;
    this.leave();
    this.uid = uid;
    this.last = el('p', {class: 'empty', role: 'status'}, 'Asking …');
    this.parts = Object.fromEntries(kParts.map((name) => [name, el('div', {class: 'part-of-pod', 'data-part': name})]));
    const figures = [el('figure', {}), el('figure', {})];
    fill(byId('pod-title'), uid);
    byId('pod-body').replaceChildren(this.last, this.parts.facts, el('div', {class: 'pod-charts'}, figures), ...kParts.slice(1).map((n) => this.parts[n]));
    if (!this.dialog.open) this.dialog.showModal();
    this.dialog.scrollTop = 0;
    this.charts = [
      new Chart(figures[0], {title: 'CPU', about: 'cores', format: cores, empty: 'No history of it yet.', series: [{label: 'use', colour: 'ls'}]}),
      new Chart(figures[1], {title: 'Interference', about: '0 to 100', format: degree, empty: 'It was not judged in this time.', max: 20,
        series: [{label: 'degree', colour: 'ls'}, {label: 'by BE', colour: 'be'}]}),
    ];
    this.refresh();
  }

  leave() {
    for (const chart of this.charts) chart.remove();
    this.charts = [];
    this.uid = null;
  }

  async refresh() {
    const uid = this.uid;
    if (uid === null) return;
    const where = encodeURIComponent(uid);
    const [pod, explain] = await Promise.allSettled([this.link.get(`/api/v1/pods/${where}`), this.link.get(`/api/v1/explain/${where}`)]);
    if (this.uid !== uid) return; // another pod by now
    if (pod.status === 'rejected') {
      setText(this.last, pod.reason.status === 404 ? 'This pod is gone.' : `No figures: ${pod.reason.message}`);
      this.last.hidden = false;
    } else {
      this.last.hidden = true;
      this.draw(pod.value, explain.status === 'fulfilled' ? explain.value : null);
    }
    try {
      const h = await this.history.pod(uid, this.range(), this.now());
      if (this.uid !== uid) return;
      this.charts[0].set(columns(h, ['cpu']), h.from, h.to);
      this.charts[1].set(columns(h, ['degree', 'be_degree']), h.from, h.to);
    } catch (e) {
      for (const chart of this.charts) chart.setEmpty(e.status === 503 ? 'No history is kept.' : `No history: ${e.message}`);
    }
  }

  draw(p, x) {
    setText(byId('pod-title'), `${text(p.namespace) ?? '?'}/${text(p.name) ?? '?'}`);
    const content = {facts: [drawFacts(p)], why: drawWhy(x), limits: drawLimits(x), hurt: drawHurt(at(p, 'interference')), containers: drawContainers(p), decisions: drawDecisions(x)};
    for (const name of kParts) fill(this.parts[name], ...content[name]);
  }
}
