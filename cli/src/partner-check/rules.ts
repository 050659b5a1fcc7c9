import { batchRules } from './batch-rules.ts';
import { capabilityRules } from './capability-rules.ts';
import type { Rule } from './check.ts';
import { earlierRules, outcomeRules } from './outcome-rules.ts';
import { paymentRules } from './payment-rules.ts';
import { reportRules } from './report-rules.ts';
import { requestRules } from './request-rules.ts';

/** All rules, in the order in which they are checked. */
export const rules: readonly Rule[] = [
  ...earlierRules,
  ...requestRules,
  ...paymentRules,
  ...reportRules,
  ...capabilityRules,
  ...batchRules,
  ...outcomeRules,
];
