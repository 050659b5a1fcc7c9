import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * The live schema: `schema/*.sql`, one file for each subject, tables beside the functions that guard
 * them. PostgreSQL checks views, triggers and SQL functions when it creates them, so a file comes
 * after those that it builds on.
 */
export const schemaSubjects = [
  'roles',
  'environment',
  'accounts',
  'trace-contexts',
  'users',
  'attributes',
  'payee-checks',
  'events',
  'http',
  'fx',
  'ledger',
  'chain',
  'notices',
  'freezes',
  'payout-transitions',
  'payouts',
  'schedules',
  'schedule-runs',
  'history',
  'commit',
  'moves',
  'attempts',
  'dispatch',
  'sandbox',
  'routing',
  'exceptions',
  'screening',
  'decisions',
  'next-steps',
  'approvals',
  'observations',
  'observation-effects',
  'batches',
  'open-quotes',
  'batch-commits',
  'batch-inputs',
  'rails',
  'rail-requirements',
  'recovery',
  'velocity',
  'kyc',
  'kyc-checks',
  'recipient-links',
  'payout-days',
  'travel-rule',
  'statements',
  'reconciliation',
  'erasure',
  'reads',
  'webhooks',
  'proposals',
  'operators',
  'audit',
  'expiry-warnings',
  'maintenance',
  'service-role',
] as const;

const folder = join(import.meta.dirname, 'schema');

/** The statements that create the schema, in order. */
export async function readSchema(): Promise<string> {
  const texts = await Promise.all(
    schemaSubjects.map((subject) => readFile(join(folder, `${subject}.sql`), 'utf8')),
  );
  return texts.join('\n');
}
