import { describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { shareServices, stopSharedServices } from '../acceptance/service.ts';
import { closeSharedDatabases, shareDatabases } from '../server/testing/setups/database.ts';
import { endTracking } from './test-tracking.ts';

/**
 * Runs test files one after the other in this process, each as a suite of its own, so that what they
 * have in common is loaded once, acceptance tests share a service, and tests of rails share databases.
 */
export async function testTogether(root: string, files: readonly string[]): Promise<void> {
  shareServices();
  shareDatabases();
  const loads: Promise<void>[] = [];
  const lastWithService = files.findLastIndex((file) => file.startsWith('acceptance/'));
  for (const [index, file] of files.entries()) {
    describe(file, () => {
      const load = (async () => {
        await import(new URL(file, pathToFileURL(`${root}/`)).href);
      })();
      loads.push(load);
      return load;
    });
    // An idle service asks the database some forty times a second.
    if (index === lastWithService) {
      describe('services that the files of a group share', () => {
        test('are stopped after the last of these files', stopSharedServices);
      });
    }
  }
  // Not in a hook of the whole run: Node may wait with it until nothing is open any more.
  describe('what the files of a group share', () => {
    test('is closed at its end', closeSharedDatabases);
  });
  // A file that does not load fails its suite.
  void Promise.allSettled(loads).then(endTracking);
}
