import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { HtmlTagDescriptor, IndexHtmlTransformContext, Plugin, Rolldown } from 'vite';
import { type Head, heads } from './src/shell/heads.ts';
import { pitch } from './src/shell/pitch.ts';

/**
 * What a browser shows before the program runs: the frame and the heading of the page, or of the
 * sign-in. The service puts it into `index.html` (server/src/console/pages.ts), so it is written here as
 * HTML in the classes that the program uses, and the program takes over in the same places. It holds no
 * data, and no control: none of them would work yet.
 */

/** The content of `first-paint.json`. `path` has `$` before what an address has in its place. */
export type FirstPaint = { signIn: Part; pages: (Part & { path: string })[] };
type Part = { head: string; body: string };

/** Puts the program behind the first paint, and writes down what each page shows and loads. */
export function firstPaint(): Plugin {
  return {
    name: 'first-paint',
    apply: 'build',
    transformIndexHtml: { order: 'post', handler: startAfterPaint },
    async writeBundle({ dir = '' }, bundle) {
      const page = await readFile(join(dir, 'index.html'), 'utf8');
      const icon = /href="([^"]+\.svg)"/.exec(page)?.[1] ?? '';
      const program = listScripts(bundle, 'src/shell/program.tsx');
      const pages = Object.entries(heads).map(([name, head]: [string, Head]) => {
        const own = listScripts(bundle, `src/pages/${name}.tsx`);
        return {
          path: head.path,
          head: writeReads(head) + [...new Set([...program, ...own])].map(writePreload).join(''),
          body: writeFrame(head, icon),
        };
      });
      const written: FirstPaint = { signIn: { head: '', body: writeSignIn(icon) }, pages };
      await writeFile(join(dir, 'first-paint.json'), JSON.stringify(written));
    },
  };
}

/**
 * The program is loaded at once, behind the styles, and runs when the first picture is on the screen: on
 * a slow phone its start takes longer than the picture. A page in the background is not painted at all.
 */
function startAfterPaint(
  html: string,
  { bundle = {} }: IndexHtmlTransformContext,
): { html: string; tags: HtmlTagDescriptor[] } {
  const font = Object.keys(bundle).find((name) => /inter-latin-wght-.*\.woff2$/.test(name));
  const entry = /<script type="module"[^>]* src="([^"]+)"[^>]*><\/script>/.exec(html);
  if (entry === null || font === undefined) throw new Error('there is no program, or no font');
  const [tag, source] = entry;
  // Without this the font is found with the first layout, and the text of the first paint changes.
  const preload = [
    `<link rel="preload" as="font" type="font/woff2" crossorigin href="/console/${font}">`,
    `<link rel="modulepreload" crossorigin href="${source}">`,
  ].join('');
  const rest = html
    .replace(tag, preload)
    .replaceAll('rel="modulepreload"', 'rel="modulepreload" fetchpriority="low"');
  const children = `{
    const start = () => import('${source}');
    if (document.hidden) start();
    else requestAnimationFrame(() => setTimeout(start));
  }`;
  return {
    html: rest,
    tags: [{ tag: 'script', attrs: { nonce: '__CSP_NONCE__' }, children, injectTo: 'body' }],
  };
}

const writePreload = (file: string): string =>
  `<link rel="modulepreload" fetchpriority="low" crossorigin href="/console/${file}">`;

/** For the script in `index.html`, which knows the parts of an address by their places. */
function writeReads({ path, reads = [] }: Head): string {
  if (reads.length === 0) return '';
  const names = path.split('/').slice(1);
  const written = reads.map((read) =>
    read.replaceAll(/\$(\w+)/g, (whole) => {
      const place = names.indexOf(whole);
      return place === -1 ? whole : `$${place}`;
    }),
  );
  return `<meta name="outlay-reads" content="${escape(written.join(' '))}">`;
}

/** The files of a module and those that it imports, without what is loaded later. */
function listScripts(bundle: Rolldown.OutputBundle, module: string): string[] {
  const chunks = Object.values(bundle).filter((output) => output.type === 'chunk');
  const own = chunks.find(({ facadeModuleId }) => facadeModuleId?.endsWith(`/${module}`));
  if (own === undefined) throw new Error(`${module} is not a part of its own`);
  const files = new Set([own.fileName]);
  for (const file of files) {
    const chunk = chunks.find(({ fileName }) => fileName === file);
    for (const imported of chunk?.imports ?? []) files.add(imported);
  }
  return [...files];
}

function writeBrand(icon: string): string {
  return `<span class="brand"><img src="${icon}" alt="" width="24" height="24">Outlay</span>`;
}

function writeFrame({ title, lead }: Head, icon: string): string {
  const line = lead === undefined ? '' : `<p>${escape(lead)}</p>`;
  return [
    '<div class="frame" data-environment="__ENVIRONMENT__" aria-busy="true">',
    `<aside class="sidebar">${writeBrand(icon)}</aside>`,
    // The place of the menu's button.
    `<header class="topbar"><span class="button plain square"></span>${writeBrand(icon)}</header>`,
    `<main class="main"><div class="page-head"><div><h1>${escape(title)}</h1>${line}</div></div>`,
    '<div class="stack"><span class="skeleton first-paint"></span></div></main></div>',
  ].join('');
}

function writeSignIn(icon: string): string {
  return [
    '<div class="signin" aria-busy="true"><div class="pitch">',
    `${writeBrand(icon)}<div><p class="headline">${escape(pitch.headline)}</p>`,
    `<p>${escape(pitch.lead)}</p></div><small>${escape(pitch.foot)}</small></div>`,
    '<main><div class="form"><span class="skeleton first-paint"></span></div></main></div>',
  ].join('');
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
