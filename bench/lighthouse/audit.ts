import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import lighthouse from 'lighthouse';
import { type Browser, chromium } from 'playwright-core';
import { z } from 'zod';

/** Lighthouse against a page, in a browser that it controls through its port. */

export const categories = ['performance', 'accessibility', 'best-practices'] as const;
export type Category = (typeof categories)[number];

/** Scores from 0 to 100, and the times behind the first one. */
export type Visit = {
  scores: Record<Category, number>;
  firstPaintMs: number;
  largestPaintMs: number;
  blockingMs: number;
  shift: number;
  bytes: number;
  requests: number;
  /** Audits of accessibility and best practices that failed. */
  failed: string[];
};

/** Installed ones. In the headless Chromium of npm's package Lighthouse's pages end with net::ERR_ABORTED. */
const programs = ['/usr/bin/chromium', '/usr/bin/google-chrome', '/usr/bin/chromium-browser'];

export type Opened = { browser: Browser; port: number; name: string };

export async function openBrowser(): Promise<Opened> {
  const program = programs.find((path) => existsSync(path));
  if (program === undefined) throw new Error('Lighthouse needs Chromium: apt-get install chromium');
  const port = await findFreePort();
  const browser = await chromium.launch({
    executablePath: program,
    // The machines of tests run as root, where the browser's own sandbox does not work.
    args: ['--no-sandbox', `--remote-debugging-port=${port}`],
  });
  return { browser, port, name: `${program} ${browser.version()}` };
}

async function findFreePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

/** Lighthouse did not get its figures, as when the browser began the recording too late. */
export class VisitFault extends Error {}

type Wanted = { url: string; port: number; cookie: string; isPhone: boolean };

/** One cold visit, with Lighthouse's own slow-down of processor and network. @throws VisitFault */
export async function visitPage({ url, port, cookie, isPhone }: Wanted): Promise<Visit> {
  const result = await lighthouse(
    url,
    {
      port,
      logLevel: 'silent',
      output: 'json',
      onlyCategories: [...categories],
      extraHeaders: cookie === '' ? {} : { cookie },
    },
    isPhone ? undefined : desktop,
  );
  const report = result?.lhr;
  if (report === undefined) throw new VisitFault(`${url}: no report`);
  if (report.runtimeError !== undefined) {
    throw new VisitFault(`${url}: ${report.runtimeError.message}`);
  }
  const read = (id: string): number => report.audits[id]?.numericValue ?? Number.NaN;
  const score = (category: Category): number =>
    Math.round((report.categories[category]?.score ?? 0) * 100);
  return {
    scores: {
      performance: score('performance'),
      accessibility: score('accessibility'),
      'best-practices': score('best-practices'),
    },
    firstPaintMs: read('first-contentful-paint'),
    largestPaintMs: read('largest-contentful-paint'),
    blockingMs: read('total-blocking-time'),
    shift: read('cumulative-layout-shift'),
    bytes: read('total-byte-weight'),
    requests: countRequests(report.audits['network-requests']?.details),
    failed: categories
      .filter((category) => category !== 'performance')
      .flatMap((category) => report.categories[category]?.auditRefs ?? [])
      .filter(({ id, weight }) => weight > 0 && (report.audits[id]?.score ?? 1) < 1)
      .map(({ id }) => id),
  };
}

function countRequests(details: unknown): number {
  const { items } = z.object({ items: z.array(z.unknown()) }).parse(details);
  return items.length;
}

/** Lighthouse's preset for desks: less slow-down than that of a phone. */
const desktop = {
  extends: 'lighthouse:default',
  settings: {
    formFactor: 'desktop' as const,
    throttling: {
      rttMs: 40,
      throughputKbps: 10_240,
      cpuSlowdownMultiplier: 1,
      requestLatencyMs: 0,
      downloadThroughputKbps: 0,
      uploadThroughputKbps: 0,
    },
    screenEmulation: {
      mobile: false,
      width: 1350,
      height: 940,
      deviceScaleFactor: 1,
      disabled: false,
    },
  },
};
