import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import packedChromium from '@sparticuz/chromium';
import { type Browser, chromium, type Page } from 'playwright-core';

/** Chromium from npm, and axe in its pages. */

/** @throws Error where this machine has no browser: on others than Linux on x64. */
export async function startBrowser(further: readonly string[] = []): Promise<Browser> {
  const unwanted = new Set(['--single-process', '--no-zygote', '--disable-web-security']);
  const usual = packedChromium.args.filter((argument) => !unwanted.has(argument));
  return chromium.launch({
    executablePath: await packedChromium.executablePath(),
    args: [...usual, ...further],
  });
}

const axeSource = readFileSync(
  createRequire(import.meta.url).resolve('axe-core/axe.min.js'),
  'utf8',
);

const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/**
 * The rules that axe finds broken (WCAG 2.2 A and AA, best practice), with the elements; `within` is a
 * selector of the part to look at.
 */
export async function findBarriers(page: Page, within = 'html'): Promise<string[]> {
  // Evaluated by the browser's own protocol, which the page's policy does not concern.
  const run = `axe.run('${within}', { runOnly: ${JSON.stringify(tags)}, resultTypes: ['violations'] })
    .then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(
      ({ html, failureSummary }) => id + ': ' + html.slice(0, 200) + ' ' + failureSummary.slice(0, 300))))`;
  return page.evaluate<string[]>(`${axeSource};${run}`);
}
