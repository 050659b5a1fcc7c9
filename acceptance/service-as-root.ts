import { createApp } from '../server/src/app.ts';
import { describeStart } from '../server/src/cli/start-screen.ts';
import { readConfig } from '../server/src/config.ts';

/**
 * The service with live, for tests that run as root: what `server/src/operator.ts` does after it has
 * refused root. A program of the tests rather than a setting, so that no operator can turn the refusal
 * off. Another user is no way out: it cannot enter the folder of the test's database socket.
 */

const config = readConfig(process.env);
const role = process.argv[2] === 'serve' ? 'serve' : 'all';
const report = (line: string): void => void process.stderr.write(`outlay: ${line}\n`);
const app = await createApp(config, { role, realNowMs: Date.now, report });
const stop = (): void => void app.close().then(() => process.exit(0));
process.on('SIGINT', stop);
process.on('SIGTERM', stop);
process.stdout.write(describeStart(config, { role, ...(await app.listen()) }));
