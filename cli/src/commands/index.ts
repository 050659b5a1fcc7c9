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
  profile: 'manage the addresses and credentials on this computer',
  recipient: 'create, list and check recipients',
  payout: 'list, follow, commit and cancel payouts',
  proposal: 'confirm or decline payouts that software proposes',
  batch: 'pay files of payouts',
  events: 'follow the events of the account',
  webhooks: 'send events to your own program',
  sandbox: 'move the clock and choose outcomes in staging',
  receipt: 'verify receipts of payouts',
  proof: 'verify proofs of payouts',
  ledger: 'verify the ledger',
};
