import { parseArgs } from 'node:util';
import { openHubSimulator } from './hub-simulator.ts';

/**
 * The simulated hub as a process of its own:
 *
 *   node hub-simulator-program.ts --folder F --callback http://127.0.0.1:8080/rails/momo --port 0
 *     [--delay-ms 0] [--lost-percent 0] [--repeated-percent 0] [--fee-basis-points 0] [--payer-fsp outlay]
 *
 * Prints one line of JSON with its port when it listens, keeps records and keys in the folder, and
 * ends on SIGTERM.
 */
const { values } = parseArgs({
  options: {
    folder: { type: 'string' },
    callback: { type: 'string' },
    port: { type: 'string', default: '0' },
    'payer-fsp': { type: 'string', default: 'outlay' },
    'delay-ms': { type: 'string', default: '0' },
    'lost-percent': { type: 'string', default: '0' },
    'repeated-percent': { type: 'string', default: '0' },
    'fee-basis-points': { type: 'string', default: '0' },
  },
});
if (values.folder === undefined || values.callback === undefined) {
  throw new Error('--folder and --callback are required');
}

const simulator = await openHubSimulator({
  folder: values.folder,
  callbackUrl: values.callback,
  port: Number(values.port),
  payerFsp: values['payer-fsp'],
  nowMs: () => Math.floor(performance.timeOrigin + performance.now()),
  delayMs: Number(values['delay-ms']),
  lostPercent: Number(values['lost-percent']),
  repeatedPercent: Number(values['repeated-percent']),
  feeBasisPoints: Number(values['fee-basis-points']),
});
process.once('SIGTERM', () => {
  void simulator.close().then(() => process.exit(0));
});
process.stdout.write(`${JSON.stringify({ port: simulator.address.port })}\n`);
