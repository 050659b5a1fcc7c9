import { after, describe } from 'node:test';
import { pathToFileURL } from 'node:url';
import { shareServices, stopSharedServices } from '../acceptance/service.ts';

/**
 * Runs test files one after the other in this process, each as a suite of its own, so that what they
 * have in common is loaded once and acceptance tests share a service.
 */
export function testTogether(root: string, files: readonly string[]): void {
  shareServices();
  after(stopSharedServices);
  for (const file of files) {
    describe(file, async () => {
      await import(new URL(file, pathToFileURL(`${root}/`)).href);
    });
  }
}
