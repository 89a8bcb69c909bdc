// What deserves a line above everything else.

import {badge, byId, el, fill} from './dom.js';
import {at, clock, cores, duration, list, number, text} from './format.js';

const kMost = 8;

/** Pure: [{kind, text}] from the status and the forecasts. */
export function noticesOf(s, predictions) {
  const out = [];
  const add = (kind, what) => out.push({kind, text: what});
  if (s === null) return out;
  for (const why of list(at(s, 'not_ready'))) if (text(why)) add('warn', `Not ready: ${why}`);
  if (at(s, 'qos', 'off') === true) add('warn', 'The policy is off: nothing is proposed or written.');
  else if (at(s, 'qos', 'dry_run') === true) add('info', 'Dry run: everything is computed and shown, nothing is written.');
  const stale = text(at(s, 'qos', 'stale'));
  if (stale) add('warn', `An input is too old: ${stale}. Caps hold, nothing relaxes.`);
  const api = text(at(s, 'api', 'fault'));
  if (api) {
    const age = number(at(s, 'api', 'last_ok_age_ms'));
    add('bad', `API server: ${api}${age === null ? '' : ` (last answer ${duration(age)} ago)`}. Decisions go on with what is known.`);
  }
  const starving = list(at(s, 'starvation', 'starving')).length;
  if (starving) add('warn', `${starving} best-effort pod${starving > 1 ? 's' : ''} starving: ${text(at(s, 'starvation', 'why')) ?? 'too little CPU'}`);
  for (const cap of list(at(s, 'cap_ineffective')))
    add('warn', `A cap does not bite: ${text(at(cap, 'pod')) ?? text(at(cap, 'cgroup')) ?? 'best effort'} uses ${cores(at(cap, 'used_milli'))} of ${cores(at(cap, 'cap_milli'))} cores (${text(at(cap, 'cause')) ?? 'cause unknown'})`);
  const warning = text(at(predictions, 'warning'));
  if (warning) add('warn', `A peak is ahead: ${warning}`);
  const contested = number(at(s, 'files', 'contested'));
  if (contested) add('warn', `${contested} control file${contested > 1 ? 's are' : ' is'} contested by another writer.`);
  const recorder = text(at(s, 'recorder', 'fault'));
  if (recorder) add('warn', `Flight recorder: ${recorder}`);
  for (const fault of list(at(s, 'faults'))) if (text(fault)) add('warn', `Refused input: ${fault}`);
  return out;
}

/** silent: null, or {ms, since}: the daemon does not answer. */
export function drawNotices(s, predictions, silent) {
  const all = noticesOf(s, predictions);
  if (silent !== null) {
    const from = s === null ? 'Nothing was received yet.' : `The figures below are those of ${clock(silent.since)}.`;
    all.unshift({kind: 'bad', text: `No answer from koordlet. ${from}`});
  }
  const shown = all.slice(0, kMost);
  if (all.length > kMost) shown.push({kind: 'info', text: `and ${all.length - kMost} more: koordlet status lists them`});
  const words = {bad: 'Fault', warn: 'Warning', info: 'Note', ok: 'Fine'};
  fill(byId('notices'), shown.map((n) => el('li', {class: 'notice', 'data-kind': n.kind}, badge(n.kind, words[n.kind]), el('span', {}, n.text))));
}
