import { Session } from 'node:inspector/promises';
import { createApp } from '../../server/src/app.ts';
import { readConfig } from '../../server/src/config.ts';

/** The service by itself, as its own process runs it; the settings come in the environment. */

const role = process.env['BENCH_ROLE'] === 'all' ? 'all' : 'serve';
const config = readConfig({ ...process.env, OUTLAY_LOG_LEVEL: 'silent' });
const app = await createApp(config, { role, realNowMs: Date.now });
const { baseUrl } = await app.listen();
process.send?.({ port: Number(new URL(baseUrl).port) });

const inspector = new Session();
inspector.connect();
await inspector.post('Profiler.enable');
let cpu = process.cpuUsage();
/** 'profile' begins a profile; any other message ends it and is answered with what was found. */
process.on('message', (message) => {
  void (async () => {
    if (message === 'profile') {
      cpu = process.cpuUsage();
      await inspector.post('Profiler.start');
      process.send?.({});
    } else {
      const { user, system } = process.cpuUsage(cpu);
      const { profile } = await inspector.post('Profiler.stop');
      process.send?.({ profile, cpuUs: user + system });
    }
  })();
});
process.once('disconnect', () => {
  void app.close().finally(() => process.exit());
});
