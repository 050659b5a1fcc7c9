import { parseArgs } from 'node:util';
import { openHubSimulator } from '../../server/testing/counterparties/fspiop/hub-simulator.ts';

/** The simulated hub as a process; it goes by the time of day, as a real one does. */

const { values } = parseArgs({
  options: {
    folder: { type: 'string', default: '' },
    callback: { type: 'string', default: '' },
    port: { type: 'string', default: '0' },
  },
});

const simulator = await openHubSimulator({
  folder: values.folder,
  callbackUrl: values.callback,
  port: Number(values.port),
  nowMs: Date.now,
  delayMs: 20,
  lostPercent: 12,
  repeatedPercent: 12,
  feeBasisPoints: 100,
});
process.once('SIGTERM', () => {
  void simulator.close().then(() => process.exit(0));
});
process.stdout.write(`listening on ${simulator.address.port}\n`);
