// A table that sorts by its headings, keeps its rows from one answer to the next, and becomes cards on a narrow screen.

import {el, fill, setAttr, setText} from './dom.js';

const kShown = 25;

/**
 * spec: {caption, key(row), empty, sort: {id, down}, columns: [{id, label, number, title, value(row), cell(row)}]}.
 * value: what it sorts by (null last); absent: the column does not sort. cell: text, a node, or a list of them.
 */
export class Table {
  constructor(host, spec) {
    this.spec = spec;
    this.rows = [];
    this.sort = spec.sort ?? null;
    this.whole = false;
    this.kept = new Map();
    this.heads = new Map();
    const head = el('tr', {role: 'row'}, spec.columns.map((c) => this.heading(c)));
    this.body = el('tbody', {role: 'rowgroup'});
    this.table = el('table', {role: 'table'}, el('caption', {class: 'hidden'}, spec.caption), el('thead', {role: 'rowgroup'}, head), this.body);
    this.note = el('p', {class: 'empty'}, spec.empty);
    this.more = el('button', {type: 'button', class: 'plain more'});
    this.more.addEventListener('click', () => {
      this.whole = !this.whole;
      this.draw();
    });
    host.replaceChildren(el('div', {class: 'scroll'}, this.table), this.note, this.more);
    this.draw();
  }

  heading(column) {
    const th = el('th', {role: 'columnheader', scope: 'col', class: column.number ? 'number' : null, title: column.title});
    this.heads.set(column.id, th);
    if (!column.value) {
      th.append(column.label);
      return th;
    }
    const button = el('button', {type: 'button', 'data-sort': column.id}, column.label, el('span', {class: 'arrow', 'aria-hidden': 'true'}));
    button.addEventListener('click', () => {
      const same = this.sort?.id === column.id;
      this.sort = {id: column.id, down: same ? !this.sort.down : Boolean(column.number)};
      this.draw();
    });
    th.append(button);
    return th;
  }

  /** empty: why there is nothing, when it is not the usual reason. */
  set(rows, empty) {
    this.rows = rows;
    setText(this.note, empty ?? this.spec.empty);
    this.draw();
  }

  sorted() {
    const column = this.spec.columns.find((c) => c.id === this.sort?.id);
    if (!column) return this.rows;
    const sign = this.sort.down ? -1 : 1;
    const known = (v) => v !== null && v !== undefined;
    return [...this.rows].sort((a, b) => {
      const [x, y] = [column.value(a), column.value(b)];
      if (!known(x) || !known(y)) return Number(known(y)) - Number(known(x));
      return sign * (typeof x === 'number' && typeof y === 'number' ? x - y : String(x).localeCompare(String(y)));
    });
  }

  draw() {
    for (const [id, th] of this.heads) {
      const mine = this.sort?.id === id;
      setAttr(th, 'aria-sort', mine ? (this.sort.down ? 'descending' : 'ascending') : null);
      const arrow = th.querySelector('.arrow');
      if (arrow) setText(arrow, mine ? (this.sort.down ? '↓' : '↑') : '');
    }
    const rows = this.sorted();
    const shown = this.whole ? rows : rows.slice(0, kShown);
    const wanted = shown.map((row) => this.line(row));
    wanted.forEach((tr, i) => {
      if (this.body.children[i] !== tr) this.body.insertBefore(tr, this.body.children[i] ?? null);
    });
    while (this.body.children.length > wanted.length) this.body.lastChild.remove();
    const keys = new Set(this.rows.map((r) => this.spec.key(r)));
    for (const key of [...this.kept.keys()]) if (!keys.has(key)) this.kept.delete(key);
    this.table.hidden = rows.length === 0;
    this.note.hidden = rows.length !== 0;
    this.more.hidden = rows.length <= kShown;
    setText(this.more, this.whole ? `Show the first ${kShown}` : `Show all ${rows.length}`);
  }

  line(row) {
    const key = this.spec.key(row);
    let tr = this.kept.get(key);
    if (!tr) {
      tr = el('tr', {role: 'row'}, this.spec.columns.map((c, i) => el(i === 0 ? 'th' : 'td', {
        role: i === 0 ? 'rowheader' : 'cell', scope: i === 0 ? 'row' : null, class: c.number ? 'number' : null, 'data-label': c.label, 'data-column': c.id,
      })));
      setAttr(tr, 'data-key', key);
      this.kept.set(key, tr);
    }
    this.spec.columns.forEach((c, i) => {
      const content = c.cell(row);
      fill(tr.children[i], ...(Array.isArray(content) ? content : [content]));
    });
    return tr;
  }
}
