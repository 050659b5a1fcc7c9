import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import packedChromium from '@sparticuz/chromium';
import { type Browser, chromium, type Page } from 'playwright-core';

/** Chromium from npm, and axe in its pages. */

const startsMax = 3;

/** @throws Error where this machine has no browser: on others than Linux on x64. */
export async function startBrowser(further: readonly string[] = []): Promise<Browser> {
  const unwanted = new Set(['--single-process', '--no-zygote', '--disable-web-security']);
  const usual = packedChromium.args.filter((argument) => !unwanted.has(argument));
  const options = { executablePath: await provideChromium(), args: [...usual, ...further] };
  for (let starts = 1; ; starts += 1) {
    try {
      return await chromium.launch(options);
    } catch (error) {
      // One of some hundred starts ended with SIGSEGV before a page was opened.
      if (starts === startsMax) throw error;
    }
  }
}

const require = createRequire(import.meta.url);
const unpackTimeoutMs = 180_000;

/**
 * The program, unpacked once for each version below `node_modules/.cache`. The package itself writes into
 * the folder for temporary files under fixed names: processes that begin together would start what
 * another one is still writing, and the folder of `npm test` disappears at its end. So a process
 * unpacks into a folder of its own, which it then gives the final name; where several did, the first
 * one's is used.
 */
export async function provideChromium(cache = defaultCache): Promise<string> {
  const folder = join(cache, `chromium-${readVersion()}`);
  const program = join(folder, 'chromium');
  if (existsSync(program)) return program;
  await mkdir(cache, { recursive: true });
  const unpacked = await mkdtemp(`${folder}.`);
  try {
    // The package asks for the folder of temporary files of its process.
    const script = "await (await import('@sparticuz/chromium')).default.executablePath()";
    await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
      cwd: import.meta.dirname,
      env: { ...process.env, TMPDIR: unpacked },
      timeout: unpackTimeoutMs,
    });
    await rename(unpacked, folder);
  } catch (error) {
    // A folder that is not empty is not replaced: another process was first.
    if (!existsSync(program)) throw new Error('Chromium was not unpacked', { cause: error });
  } finally {
    await rm(unpacked, { recursive: true, force: true });
  }
  return program;
}

const packageFolder = join(dirname(require.resolve('@sparticuz/chromium')), '../..');
const defaultCache = join(packageFolder, '../../.cache');

function readVersion(): string {
  const text = readFileSync(join(packageFolder, 'package.json'), 'utf8');
  const version = /"version": "([\d.]+)"/.exec(text)?.[1];
  if (version === undefined) throw new Error('the package of Chromium has no version');
  return version;
}

const patienceMs = 60_000;

/**
 * Waits until an expression holds in the page. `waitForFunction` evaluates the expression in the page itself
 * from the second time on, which our content security policy forbids; this asks by the browser's own protocol
 * each time. @throws Error after a minute.
 */
export async function waitUntilTrue(page: Page, expression: string): Promise<void> {
  const untilMs = performance.now() + patienceMs;
  while (!(await page.evaluate<boolean>(expression))) {
    if (performance.now() > untilMs) throw new Error(`never true: ${expression}`);
    await sleep(50);
  }
}

const axeSource = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

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
