import { pino } from 'pino';
import { createApp } from '../../server/src/app.ts';
import { readConfig } from '../../server/src/config.ts';

/** The service by itself, as its own process runs it; the settings come in the environment. */

const role = process.env['BENCH_ROLE'] === 'all' ? 'all' : 'serve';
const app = await createApp(readConfig(process.env), { role, log: pino({ level: 'silent' }) });
const { baseUrl } = await app.listen();
process.send?.({ port: Number(new URL(baseUrl).port) });
process.once('disconnect', () => {
  void app.close().finally(() => process.exit());
});
