import { type Child, startChild } from '../child.ts';
import { measureHttp } from '../http-load.ts';
import { serverOptions } from '../node-options.ts';
import type { Subject } from '../subject.ts';

/** The ceiling of the HTTP path: Node's own server, in a process of its own with the options of ours, storing nothing. */
export function createNodeHttpSubject(target: () => { body: string; request: string }): Subject {
  let child: Child | undefined;
  let request = '';
  return {
    name: 'bare node:http',
    prepare: async () => {
      const { body, request: bytes } = target();
      request = bytes;
      child = await startChild('peers/node-http-process.ts', {
        env: { BENCH_BODY: body },
        execArgv: serverOptions,
      });
    },
    processId: () => child?.processId,
    run: (load) => measureHttp(Number(child?.ready['port']), load, () => request),
    close: async () => child?.stop(),
  };
}
