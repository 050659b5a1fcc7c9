import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { openAdyenSimulator } from './adyen-simulator.ts';

/** The simulated Adyen as a process; it ends with SIGTERM, or with `--attached` when its input does. */

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    folder: { type: 'string' },
    'secret-file': { type: 'string' },
    'webhook-url': { type: 'string' },
    /** JSON, as in simulator-options.ts. */
    options: { type: 'string', default: '{"settleMs":200}' },
    attached: { type: 'boolean', default: false },
  },
});

const secretsSchema = z.strictObject({
  apiKey: z.string(),
  webhookKey: z.string(),
  balanceAccountId: z.string(),
});

if (values['secret-file'] === undefined) throw new Error('--secret-file is required');
const secrets = secretsSchema.parse(JSON.parse(readFileSync(values['secret-file'], 'utf8')));
const simulator = await openAdyenSimulator({
  ...secrets,
  port: Number(values.port),
  ...(values.folder !== undefined && { folder: values.folder }),
  ...(values['webhook-url'] !== undefined && { webhookUrl: values['webhook-url'] }),
  options: JSON.parse(values.options),
});

const end = (): void => {
  void simulator.close().then(() => process.exit(0));
};
process.once('SIGTERM', end);
if (values.attached) process.stdin.resume().once('end', end);
process.stdout.write(`${JSON.stringify({ port: simulator.address.port })}\n`);
