import { z } from 'zod';
import type { Command } from '../cli/command.ts';
import { getHelp } from '../cli/options.ts';
import { AppError } from '../core/errors.ts';
import { isUuid } from '../core/ids.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { objectAnswer } from '../http/schema.ts';
import { isWaiting } from '../operators/act.ts';
import { getRequestedAct } from '../operators/approvals.ts';
import { accountOperations } from './account-operations.ts';
import { controlOperations } from './control-operations.ts';
import {
  changeAnswer,
  getCommand,
  type OperatorServices,
  perform,
  reasonField,
  toPlain,
} from './operation.ts';
import { type OverviewServices, overviewOperations } from './overview-operations.ts';
import { payoutOperations } from './payout-operations.ts';
import { personOperations } from './person-operations.ts';
import { priceOperations } from './price-operations.ts';
import { reconciliationOperations } from './reconciliation-operations.ts';
import { reviewOperations } from './review-operations.ts';
import { routingOperations } from './routing-operations.ts';
import { ruleOperations } from './rule-operations.ts';

/** The API of operators. */

const approveBody = z.object({ reason: reasonField }).meta({ id: 'ApproveRequest' });

const approveParams = z.object({
  approval: z
    .string()
    .refine(isUuid, { error: 'must be an identifier (UUID)' })
    .describe('The request, from `GET /operator/approvals`'),
});

function namesFile({ options }: Command, parameters: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(options).some(
    ([name, schema]) =>
      parameters[name] !== undefined && ['path', 'files'].includes(getHelp(schema).value ?? ''),
  );
}

const approveRoute = (): Route<OperatorServices> =>
  defineRoute<
    OperatorServices,
    z.output<typeof approveParams>,
    unknown,
    z.output<typeof approveBody>
  >({
    method: 'POST',
    path: '/operator/approvals/{approval}/approve',
    isVersioned: true,
    operationId: 'approve',
    tag: 'Operators',
    summary: 'Do what another operator has requested',
    description:
      'Repeats the request with its stored parameters, as the second operator. Your role must permit the command. Your own request keeps waiting.',
    access: 'operator',
    params: approveParams,
    body: approveBody,
    response: changeAnswer(objectAnswer).meta({ id: 'Approved' }),
    refusals: [404, 409],
    handle: async (context, { params, body }) => {
      const asked = await getRequestedAct(
        { session: context.env.db.system, keys: context.env.commandContext.keys },
        params.approval,
      );
      const command = getCommand(asked.action);
      // On the machine of the command line.
      if (namesFile(command, asked.parameters)) {
        const detail = `${asked.action} is approved by the same command: outlay admin ${asked.action}`;
        throw new AppError('illegal_move', detail);
      }
      const given = { ...asked.parameters, reason: body.reason };
      const answer = await perform(context, command, {
        given,
        isBody: true,
        approves: asked.id,
      });
      if (isWaiting(answer)) return { result: 'waiting', approval: params.approval, outcome: null };
      const outcome = typeof answer === 'object' ? toPlain(answer) : {};
      return { result: 'done', approval: '', outcome };
    },
  });

export function operatorRoutes(): Route<OverviewServices>[] {
  return [
    ...overviewOperations(),
    ...controlOperations(),
    ...accountOperations(),
    ...payoutOperations(),
    ...reviewOperations(),
    ...ruleOperations(),
    ...routingOperations(),
    ...reconciliationOperations(),
    ...priceOperations(),
    ...personOperations(),
    approveRoute(),
  ];
}
