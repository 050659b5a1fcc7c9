import { accountCommands } from './account.ts';
import { accountSettingsCommands } from './account-settings.ts';
import { cellCommands } from './cell.ts';
import type { Command } from './command.ts';
import { credentialCommands } from './credential.ts';
import { environmentKeyCommands } from './environment-key.ts';
import { exceptionCommands } from './exception.ts';
import { identityCommands } from './identity.ts';
import { keyCommands } from './key.ts';
import { ledgerCommands } from './ledger.ts';
import { limitCommands } from './limit.ts';
import { linkCommands } from './link.ts';
import { operatorCommands } from './operator.ts';
import { payoutCommands } from './payout.ts';
import { priceCommands } from './price.ts';
import { railCommands } from './rail.ts';
import { receiptCommands } from './receipt.ts';
import { reconciliationCommands } from './reconciliation.ts';
import { recoveryCommands } from './recovery.ts';
import { reportCommands } from './report.ts';
import { rotationCommands } from './rotation.ts';
import { routingCommands } from './routing.ts';
import { ruleCommands } from './rule.ts';
import { screeningCommands } from './screening.ts';
import { senderCommands } from './sender.ts';
import { serviceCommands } from './service.ts';
import { payoutListCommand, statusCommands } from './status.ts';
import { freezeCommands, sendingCommands } from './stopping.ts';
import { suspenseCommands } from './suspense.ts';
import { userCommands } from './user.ts';

/** All commands of operators, for the service, which loads most of the program anyway. */

export const commands: readonly Command[] = [
  ...serviceCommands,
  ...cellCommands,
  ...ledgerCommands,
  ...operatorCommands,
  ...accountCommands,
  ...suspenseCommands,
  ...accountSettingsCommands,
  ...senderCommands,
  ...limitCommands,
  ...ruleCommands,
  ...routingCommands,
  ...credentialCommands,
  ...userCommands,
  ...linkCommands,
  ...keyCommands,
  ...environmentKeyCommands,
  ...rotationCommands,
  ...exceptionCommands,
  ...statusCommands,
  ...reportCommands,
  payoutListCommand,
  ...payoutCommands,
  ...receiptCommands,
  ...recoveryCommands,
  ...sendingCommands,
  ...freezeCommands,
  ...priceCommands,
  ...railCommands,
  ...screeningCommands,
  ...identityCommands,
  ...reconciliationCommands,
];
