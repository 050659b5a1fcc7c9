import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { openPaypalSimulator } from './paypal-simulator.ts';

/**
 * The simulated PayPal as a process of its own:
 *
 *   node paypal-program.ts --folder F --secret-file S --webhook http://127.0.0.1:8080/rails/paypal
 *     [--port 0] [--options '{"stepMs":500}'] [--turn-ms 100]
 *
 * S has `{"clientId": "…", "clientSecret": "…"}`. Prints one line of JSON with its port and the id of
 * the webhook when it listens, keeps its books in F, and ends on SIGTERM.
 */
const { values } = parseArgs({
  options: {
    folder: { type: 'string' },
    'secret-file': { type: 'string' },
    webhook: { type: 'string' },
    port: { type: 'string', default: '0' },
    options: { type: 'string', default: '{}' },
    'turn-ms': { type: 'string', default: '100' },
  },
});
const { folder, webhook, 'secret-file': secretFile } = values;
if (folder === undefined || webhook === undefined || secretFile === undefined) {
  throw new Error('--folder, --secret-file and --webhook are required');
}
const credentialsSchema = z.strictObject({ clientId: z.string(), clientSecret: z.string() });
const simulator = await openPaypalSimulator({
  folder,
  webhookUrl: webhook,
  port: Number(values.port),
  credentials: credentialsSchema.parse(JSON.parse(readFileSync(secretFile, 'utf8'))),
  options: JSON.parse(values.options) as object,
});
let isTurning = false;
const timer = setInterval(() => {
  if (isTurning) return;
  isTurning = true;
  void simulator.advance().finally(() => {
    isTurning = false;
  });
}, Number(values['turn-ms']));
process.once('SIGTERM', () => {
  clearInterval(timer);
  void simulator.close().then(() => process.exit(0));
});
const { port, webhookId } = simulator;
process.stdout.write(`${JSON.stringify({ port, webhookId })}\n`);
