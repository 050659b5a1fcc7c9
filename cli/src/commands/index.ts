import type { Command } from '../command.ts';
import { balanceCommands } from './balances.ts';
import { batchCommands } from './batches.ts';
import { completionCommands } from './completion.ts';
import { destinationCommands } from './destinations.ts';
import { eventCommands } from './events.ts';
import { mcpCommands } from './mcp.ts';
import { partnerCheckCommands } from './partner-check.ts';
import { payCommands } from './pay.ts';
import { payoutCommands } from './payouts.ts';
import { profileCommands } from './profiles.ts';
import { proposalCommands } from './proposals.ts';
import { receiptCommands } from './receipts.ts';
import { recipientCommands } from './recipients.ts';
import { sandboxCommands } from './sandbox.ts';
import { webhookCommands } from './webhooks.ts';

/** All commands, in the order of the help. */
export const commands: readonly Command[] = [
  ...profileCommands,
  ...balanceCommands,
  ...recipientCommands,
  ...destinationCommands,
  ...payCommands,
  ...payoutCommands,
  ...proposalCommands,
  ...batchCommands,
  ...eventCommands,
  ...webhookCommands,
  ...sandboxCommands,
  ...receiptCommands,
  ...mcpCommands,
  ...partnerCheckCommands,
  ...completionCommands,
];

export const nouns: Readonly<Record<string, string>> = {
  profile: 'addresses and credentials on this computer',
  recipient: 'whom you pay',
  payout: 'payouts and quotes',
  proposal: 'payouts that software proposes, for you to confirm',
  batch: 'files of payouts',
  events: 'what happened in the account',
  webhooks: 'events sent to your own program',
  sandbox: 'time and outcomes in staging',
  receipt: 'receipts of payouts',
  proof: 'proofs of payouts',
  ledger: 'the books of the service',
};
