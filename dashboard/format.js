// Numbers and times as text. Unknown (null, absent, not finite) is always UNKNOWN, never NaN, undefined or 0.

export const UNKNOWN = '–';

/** A finite number, or null for everything else. */
export function number(v) {
  return typeof v === 'number' && Number.isFinite(v) ? v : null;
}

/** Text of an answer; null for everything that is not text or empty. */
export function text(v) {
  return typeof v === 'string' && v !== '' ? v : null;
}

/** Fixed digits, without zeros at the end. */
function short(v, digits) {
  return String(Number(v.toFixed(digits)));
}

/** Milli-cores as cores: 1500 is "1.5". "max" is "no limit". */
export function cores(milli) {
  if (milli === 'max') return 'no limit';
  const v = number(milli);
  if (v === null) return UNKNOWN;
  const c = v / 1000;
  return short(c, Math.abs(c) >= 100 ? 0 : Math.abs(c) >= 10 ? 1 : 2);
}

const kUnits = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

export function bytes(v) {
  if (v === 'max') return 'no limit';
  let left = number(v);
  if (left === null) return UNKNOWN;
  let unit = 0;
  while (Math.abs(left) >= 1024 && unit < kUnits.length - 1) {
    left /= 1024;
    ++unit;
  }
  return `${short(left, Math.abs(left) >= 100 || unit === 0 ? 0 : 1)} ${kUnits[unit]}`;
}

export function percent(v, digits = 0) {
  const n = number(v);
  return n === null ? UNKNOWN : `${short(n, digits)} %`;
}

/** 250 is "25 %". */
export function permille(v) {
  const n = number(v);
  return n === null ? UNKNOWN : percent(n / 10, Math.abs(n) < 100 ? 1 : 0);
}

/** Ratio of 0 to 1 as percent. */
export function ratio(v) {
  const n = number(v);
  return n === null ? UNKNOWN : percent(n * 100, 1);
}

export function count(v) {
  const n = number(v);
  return n === null ? UNKNOWN : n.toLocaleString('en-GB');
}

export function degree(v) {
  const n = number(v);
  return n === null ? UNKNOWN : short(n, 0);
}

/** Milliseconds as the two largest units: "1 h 5 min", "12 s", "250 ms". */
export function duration(ms) {
  const n = number(ms);
  if (n === null) return UNKNOWN;
  if (n < 1000) return `${Math.max(0, Math.round(n))} ms`;
  const s = Math.floor(n / 1000);
  if (s < 60) return `${s} s`;
  const m = Math.floor(s / 60);
  if (m < 60) return s % 60 ? `${m} min ${s % 60} s` : `${m} min`;
  const h = Math.floor(m / 60);
  if (h < 48) return m % 60 ? `${h} h ${m % 60} min` : `${h} h`;
  const d = Math.floor(h / 24);
  return h % 24 ? `${d} d ${h % 24} h` : `${d} d`;
}

export function ago(ms) {
  const n = number(ms);
  if (n === null) return UNKNOWN;
  return n < 1000 ? 'now' : `${duration(n)} ago`;
}

export function micros(us) {
  const n = number(us);
  if (n === null) return UNKNOWN;
  if (n < 1000) return `${Math.round(n)} µs`;
  return n < 1e6 ? `${short(n / 1000, n < 1e4 ? 1 : 0)} ms` : `${short(n / 1e6, 1)} s`;
}

/** Time of day in the browser's zone, with the date when it is not today's. `v`: RFC 3339 or Date. */
export function clock(v, seconds = true) {
  const t = v instanceof Date ? v : new Date(text(v) ?? NaN);
  if (Number.isNaN(t.getTime())) return UNKNOWN;
  const two = (x) => String(x).padStart(2, '0');
  const time = `${two(t.getHours())}:${two(t.getMinutes())}${seconds ? `:${two(t.getSeconds())}` : ''}`;
  const now = new Date();
  const today = t.toDateString() === now.toDateString();
  return today ? time : `${t.getFullYear()}-${two(t.getMonth() + 1)}-${two(t.getDate())} ${time}`;
}

/** Follows keys; null where something is missing on the way. */
export function at(v, ...keys) {
  for (const key of keys) {
    if (v === null || typeof v !== 'object') return null;
    v = v[key];
  }
  return v === undefined ? null : v;
}

/** A list, or an empty one. */
export function list(v) {
  return Array.isArray(v) ? v : [];
}
