import type { Command } from './command.ts';

/** The commands of operators by their nouns, of which a command line (`npm run outlay -- admin …`) loads its own. */

type CommandGroup = {
  /** The first words of its commands. */
  readonly nouns: readonly string[];
  load(): Promise<readonly Command[]>;
};

/** In the order of the help. */
const groups: readonly CommandGroup[] = [
  {
    nouns: ['all', 'serve', 'work', 'migrate', 'doctor', 'env-example'],
    load: async () => (await import('./service.ts')).serviceCommands,
  },
  { nouns: ['cell'], load: async () => (await import('./cell.ts')).cellCommands },
  {
    nouns: ['ledger', 'proof', 'rates'],
    load: async () => (await import('./ledger.ts')).ledgerCommands,
  },
  {
    nouns: ['operator', 'policy', 'approval', 'audit'],
    load: async () => (await import('./operator.ts')).operatorCommands,
  },
  { nouns: ['account'], load: async () => (await import('./account.ts')).accountCommands },
  { nouns: ['suspense'], load: async () => (await import('./suspense.ts')).suspenseCommands },
  {
    nouns: ['account'],
    load: async () => (await import('./account-settings.ts')).accountSettingsCommands,
  },
  { nouns: ['account'], load: async () => (await import('./sender.ts')).senderCommands },
  { nouns: ['limit'], load: async () => (await import('./limit.ts')).limitCommands },
  { nouns: ['rule'], load: async () => (await import('./rule.ts')).ruleCommands },
  { nouns: ['routing'], load: async () => (await import('./routing.ts')).routingCommands },
  { nouns: ['credential'], load: async () => (await import('./credential.ts')).credentialCommands },
  { nouns: ['user'], load: async () => (await import('./user.ts')).userCommands },
  { nouns: ['link'], load: async () => (await import('./link.ts')).linkCommands },
  { nouns: ['key'], load: async () => (await import('./key.ts')).keyCommands },
  {
    nouns: ['environment-key'],
    load: async () => (await import('./environment-key.ts')).environmentKeyCommands,
  },
  { nouns: ['credential'], load: async () => (await import('./rotation.ts')).rotationCommands },
  { nouns: ['exception'], load: async () => (await import('./exception.ts')).exceptionCommands },
  { nouns: ['status'], load: async () => (await import('./status.ts')).statusCommands },
  { nouns: ['report'], load: async () => (await import('./report.ts')).reportCommands },
  { nouns: ['payout'], load: async () => [(await import('./status.ts')).payoutListCommand] },
  { nouns: ['payout'], load: async () => (await import('./payout.ts')).payoutCommands },
  { nouns: ['receipt'], load: async () => (await import('./receipt.ts')).receiptCommands },
  { nouns: ['recovery'], load: async () => (await import('./recovery.ts')).recoveryCommands },
  { nouns: ['sending'], load: async () => (await import('./stopping.ts')).sendingCommands },
  { nouns: ['freeze'], load: async () => (await import('./stopping.ts')).freezeCommands },
  { nouns: ['rates', 'tariff'], load: async () => (await import('./price.ts')).priceCommands },
  { nouns: ['rail', 'secret'], load: async () => (await import('./rail.ts')).railCommands },
  { nouns: ['screening'], load: async () => (await import('./screening.ts')).screeningCommands },
  { nouns: ['identity'], load: async () => (await import('./identity.ts')).identityCommands },
  {
    nouns: ['reconciliation'],
    load: async () => (await import('./reconciliation.ts')).reconciliationCommands,
  },
];

/**
 * The commands that begin with the word. Those of all words take half a second to load, because they need
 * most of the program.
 *
 * @returns all commands where none begins with the word.
 */
export async function loadCommands(word?: string): Promise<readonly Command[]> {
  const named = groups.filter(({ nouns }) => word !== undefined && nouns.includes(word));
  const needed = named.length === 0 ? groups : named;
  return (await Promise.all(needed.map(({ load }) => load()))).flat();
}
