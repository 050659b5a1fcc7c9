import type { Profiler } from 'node:inspector';

/** A profile as a flame graph: width is time, and what is above was called by what is below it. */

type Frame = { name: string; totalUs: number; children: Map<string, Frame> };

const rowHeight = 15;
const width = 1200;
const depthMax = 60;

/** Time in which the thread waited is left out: the graph shows where its work goes. */
const waiting = new Set(['(idle)', '(program)', '(root)', 'post']);

export function drawFlameGraph(profile: Profiler.Profile, title: string): string {
  const root = collect(profile);
  const boxes: string[] = [];
  let deepest = 0;
  const draw = (frame: Frame, left: number, depth: number): void => {
    const wide = (frame.totalUs / root.totalUs) * width;
    if (wide < 1 || depth > depthMax) return;
    deepest = Math.max(deepest, depth);
    boxes.push(drawBox(frame, { left, wide, depth, share: frame.totalUs / root.totalUs }));
    let next = left;
    for (const child of [...frame.children.values()].toSorted((a, b) => b.totalUs - a.totalUs)) {
      draw(child, next, depth + 1);
      next += (child.totalUs / root.totalUs) * width;
    }
  };
  draw(root, 0, 0);
  const height = (deepest + 3) * rowHeight;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="monospace" font-size="10">
<rect width="${width}" height="${height}" fill="#fff"/>
<text x="4" y="12">${escape(title)}</text>
<g transform="translate(0 ${height}) scale(1 -1)">
${boxes.join('\n')}
</g>
</svg>
`;
}

/** What each share of the thread's work was spent below, by the name of a function; largest first. */
export function listShares(
  profile: Profiler.Profile,
  parts: Readonly<Record<string, RegExp>>,
): { part: string; share: number }[] {
  const root = collect(profile);
  const found = new Map<string, number>(Object.keys(parts).map((part) => [part, 0]));
  const walk = (frame: Frame): void => {
    for (const [part, pattern] of Object.entries(parts)) {
      if (!pattern.test(frame.name)) continue;
      found.set(part, (found.get(part) ?? 0) + frame.totalUs);
      return;
    }
    for (const child of frame.children.values()) walk(child);
  };
  walk(root);
  const attributed = [...found.values()].reduce((sum, one) => sum + one, 0);
  return [...found, ['everything else', root.totalUs - attributed] as const]
    .map(([part, us]) => ({ part, share: us / root.totalUs }))
    .toSorted((a, b) => b.share - a.share);
}

function collect({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile): Frame {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parents = new Map<number, number>();
  for (const node of nodes) for (const child of node.children ?? []) parents.set(child, node.id);
  const root: Frame = { name: 'all', totalUs: 0, children: new Map() };
  for (const [index, id] of samples.entries()) {
    const us = timeDeltas[index] ?? 0;
    const names: string[] = [];
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
      const frame = byId.get(at)?.callFrame;
      if (frame !== undefined && frame.functionName !== '(root)') names.unshift(nameOf(frame));
    }
    if (names.some((name) => waiting.has(name.split(' ', 1)[0] ?? ''))) continue;
    let frame = root;
    frame.totalUs += us;
    for (const name of names) {
      const child = frame.children.get(name) ?? { name, totalUs: 0, children: new Map() };
      frame.children.set(name, child);
      child.totalUs += us;
      frame = child;
    }
  }
  return root;
}

function nameOf({ functionName, url }: { functionName: string; url: string }): string {
  const place = url.split('/').slice(-2).join('/');
  return `${functionName === '' ? 'anonymous' : functionName} ${place}`.trim();
}

function drawBox(
  { name }: Frame,
  box: { left: number; wide: number; depth: number; share: number },
): string {
  const { left, wide, depth, share } = box;
  const color = `hsl(${hueOf(name)} 60% 75%)`;
  const bottom = depth * rowHeight;
  const shown = Math.floor((wide - 4) / 6);
  const text =
    shown < 3
      ? ''
      : `<text transform="translate(${(left + 2).toFixed(1)} ${bottom + 4}) scale(1 -1)">${escape(name.slice(0, shown))}</text>`;
  return `<g><title>${escape(name)} ${(share * 100).toFixed(1)}%</title><rect x="${left.toFixed(1)}" y="${bottom}" width="${Math.max(0.5, wide - 0.5).toFixed(1)}" height="${rowHeight - 1}" fill="${color}"/>${text}</g>`;
}

/** Ours, the database driver, the framework, Node itself: a colour each. */
function hueOf(name: string): number {
  if (/ (?:payouts|http|db|core|users|attributes|ledger|accounts|destinations)\//.test(name))
    return 35;
  if (
    / (?:lib|dist|pg)\/(?:client|query|connection|parser|serializer|utils|result|index)/.test(name)
  ) {
    return 210;
  }
  return name.includes('node:') || !name.includes('/') ? 110 : 280;
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
