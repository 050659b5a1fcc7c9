import {
  everyAccount,
  listPolicyVersions,
  setApprovalPolicy,
} from '../approvals/approval-policies.ts';
import { previewRules } from '../approvals/approval-preview.ts';
import { readPolicyContent } from '../approvals/approval-rules.ts';
import { takePage } from '../db/time-page.ts';
import { getAccountId } from './account.ts';
import { defineCommand, RowPage } from './command.ts';
import { type CommandContext, readMidRates } from './context.ts';
import { account, daysBack, jsonDocument, limit, numberCursor, reason } from './options.ts';

/** Rules that hold payouts until persons have approved them, for one account or for all. */

const policy = jsonDocument('the rules and their examples', {
  textMax: 200_000,
  read: readPolicyContent,
});

const scope = { account: account.optional() };

async function getScope(context: CommandContext, id: string | undefined): Promise<string> {
  return id === undefined ? everyAccount : getAccountId(context, id);
}

async function findPolicy({ db, keys }: CommandContext, accountId: string) {
  const services = { session: db.system, keys };
  const [newest] = await listPolicyVersions(services, accountId, { count: 1 });
  return newest;
}

export const ruleCommands = [
  defineCommand({
    name: 'rule show',
    permission: 'read',
    about:
      'show the rules that ask for approvals, newest first; without an account: those of all accounts',
    options: { ...scope, limit: limit.optional(), cursor: numberCursor.optional() },
    run: async ({ db, keys, ...context }, { account: id, limit: count = 100, cursor: before }) => {
      const accountId = await getScope({ db, keys, ...context }, id);
      const services = { session: db.system, keys };
      const found = await listPolicyVersions(services, accountId, { before, count: count + 1 });
      const { rows, next } = takePage(found, count, ({ version }) => String(version));
      const versions = rows.map((each) => ({
        version: each.version,
        is_in_force: each.replacedAt === null,
        is_forged: each.isForged,
        policy: JSON.parse(each.content) as unknown,
        set_by: each.setBy,
        reason: each.reason,
        set_at: each.setAt,
        replaced_at: each.replacedAt,
      }));
      return new RowPage(versions, next);
    },
  }),
  defineCommand({
    name: 'rule set',
    permission: 'decide',
    about: 'replace the rules that ask for approvals; two people are needed',
    options: { ...scope, policy, reason },
    approval: async (context, { account: id }) => {
      await getScope(context, id);
      return { policy: 'policy' };
    },
    snapshot: async (context, { account: id }) => {
      const found = await findPolicy(context, await getScope(context, id));
      return found === undefined ? undefined : { version: found.version, policy: found.content };
    },
    run: async (context, { account: id, policy: content, reason: why }) => {
      const accountId = await getScope(context, id);
      const services = { session: context.db.system, keys: context.keys };
      const by = context.operator.name;
      return {
        version: await setApprovalPolicy(services, { accountId, content, by, reason: why }),
      };
    },
  }),
  defineCommand({
    name: 'rule preview',
    permission: 'read',
    about: 'show which past payouts rules would have held, before they are set',
    options: { ...scope, policy, days: daysBack.optional() },
    run: async (context, { account: id, policy: content, days: back = 30 }) => {
      const accountId = id === undefined ? undefined : await getAccountId(context, id);
      const services = {
        session: context.db.system,
        keys: context.keys,
        rates: await readMidRates(context),
      };
      const since = new Date(context.clock.nowMs() - back * 86_400_000);
      return previewRules(services, content.rules, { accountId, since });
    },
  }),
];
