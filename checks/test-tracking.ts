import type { AsyncHook, createHook } from 'node:async_hooks';
import { createRequire } from 'node:module';

/**
 * Node's runner follows every promise with a hook. While files load it finds by it the suite to which a
 * test belongs; later, the test to which an uncaught error belongs. Following takes a tenth of the tests'
 * processor time, so it ends when the files of a group are loaded: an uncaught error still fails the group,
 * but names no test. This module has to run before `node:test` is loaded.
 */

const hooks = createRequire(import.meta.url)('node:async_hooks') as {
  createHook: typeof createHook;
};
const create = hooks.createHook;
const created: AsyncHook[] = [];
hooks.createHook = (callbacks) => {
  const hook = create(callbacks);
  created.push(hook);
  return hook;
};

export function endTracking(): void {
  for (const hook of created.splice(0)) hook.disable();
}
