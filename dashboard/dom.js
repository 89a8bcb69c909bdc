// The page is built with these alone. Text from answers goes through textContent: it never becomes markup.

/** el('td', {class: 'n', title: 'x'}, 'text', child, ...). Null and undefined children are left out. */
export function el(tag, attributes = {}, ...children) {
  const out = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    out.setAttribute(name, value === true ? '' : String(value));
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined) continue;
    out.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return out;
}

export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no #${id}`);
  return found;
}

/** Writes only what differs, so that a selection or a screen reader is not disturbed. */
export function setText(node, value) {
  const wanted = String(value);
  if (node.textContent !== wanted) node.textContent = wanted;
}

export function setAttr(node, name, value) {
  if (value === null || value === undefined) {
    node.removeAttribute(name);
  } else if (node.getAttribute(name) !== String(value)) {
    node.setAttribute(name, String(value));
  }
}

function morphAttributes(old, next) {
  for (const {name, value} of [...next.attributes]) {
    if (name === 'style') old.style.cssText = next.style.cssText; // as an attribute the page's policy forbids it
    else setAttr(old, name, value);
  }
  for (const {name} of [...old.attributes]) {
    // Whether details are open is the reader's choice.
    if (!next.hasAttribute(name) && !(name === 'open' && old.nodeName === 'DETAILS')) old.removeAttribute(name);
  }
}

function morph(old, next) {
  if (old.nodeType !== next.nodeType || old.nodeName !== next.nodeName) {
    old.replaceWith(next);
  } else if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== next.data) old.data = next.data;
  } else {
    morphAttributes(old, next);
    morphChildren(old, next);
  }
}

function morphChildren(old, next) {
  const wanted = [...next.childNodes];
  wanted.forEach((child, i) => {
    if (i < old.childNodes.length) morph(old.childNodes[i], child);
    else old.append(child);
  });
  while (old.childNodes.length > wanted.length) old.lastChild.remove();
}

/** Gives `node` this content by the least change: focus, selection and open details stay where they are. */
export function fill(node, ...children) {
  morphChildren(node, el('div', {}, ...children));
}

/** A bar of parts. parts: [{share: 0..1, kind, title}]; marks: [{share, title}]. For the eye only. */
export function bar(parts, marks = []) {
  const clamp = (v) => Math.min(1, Math.max(0, v));
  const out = el('div', {class: 'bar', 'aria-hidden': 'true'});
  for (const part of parts) {
    if (part.share === null || !(part.share > 0)) continue;
    const piece = el('span', {class: 'part', 'data-kind': part.kind, title: part.title});
    piece.style.width = `${(clamp(part.share) * 100).toFixed(2)}%`;
    out.append(piece);
  }
  for (const mark of marks) {
    const line = el('span', {class: 'mark', title: mark.title});
    line.style.left = `${(clamp(mark.share) * 100).toFixed(2)}%`;
    out.append(line);
  }
  return out;
}

export function badge(kind, label) {
  const signs = {ok: '✓', warn: '!', bad: '✕', off: '○', info: 'i'};
  return el('span', {class: 'badge', 'data-kind': kind},
    el('span', {class: 'sign', 'aria-hidden': 'true'}, signs[kind] ?? ''), label);
}
