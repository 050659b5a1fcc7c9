/** Builds elements without markup from strings: `element('p', { class: 'muted' }, 'text')`. */
export function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else if (value === true) node.setAttribute(key, '');
    else if (value !== false && value !== undefined) node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child !== undefined && child !== ''));
  return node;
}

const space = 'http://www.w3.org/2000/svg';

export function drawing(viewBox, path, attributes = {}) {
  const svg = document.createElementNS(space, 'svg');
  svg.setAttribute('viewBox', viewBox);
  for (const [key, value] of Object.entries({ 'aria-hidden': 'true', ...attributes })) {
    svg.setAttribute(key, value);
  }
  const shape = document.createElementNS(space, 'path');
  shape.setAttribute('d', path);
  svg.append(shape);
  return svg;
}

const outlines = {
  'document-front': 'M3 8h42v24H3z M9 14h11v12H9z M25 15h14 M25 20h14 M25 25h9',
  'document-back': 'M3 8h42v24H3z M3 13h42 M9 20h18 M9 25h12',
  face: 'M24 6c7 0 11 5 11 13 0 9-5 16-11 16S13 28 13 19C13 11 17 6 24 6z M19 19v1 M29 19v1 M20 27c2 2 6 2 8 0',
};

export function drawOutline(type) {
  return drawing('0 0 48 40', outlines[type]);
}

const marks = {
  good: 'M4 13l5 5L20 6',
  wait: 'M12 5v8l5 3',
  bad: 'M6 6l12 12 M18 6L6 18',
};

export function drawMark(kind) {
  return element('div', { class: `mark ${kind}` }, drawing('0 0 24 24', marks[kind]));
}
