import { z } from 'zod';
import { getUserKey } from '../cli/user-key.ts';
import { AppError } from '../core/errors.ts';
import { findTokenId } from '../core/ids.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { objectAnswer } from '../http/schema.ts';
import { findingsAnswer } from '../kyc/checks-view.ts';
import { openImages } from '../kyc/decisions.ts';
import { clearanceOperations } from './clearance-operations.ts';
import {
  count,
  defineOperation,
  type OperatorServices,
  optionalText,
  pagedList,
  performAct,
  reasonField,
  text,
  toPagedList,
} from './operation.ts';

/** What compliance looks at: identities with their images, and screening. */

const pending = z
  .object({
    account: text('The account'),
    user_token: text('The recipient'),
    session_id: text('The verification session'),
    provider: text('Who verifies'),
    status: text('Of the session'),
    submission: count('The number of uploads so far'),
    created_at: text('When it began, UTC'),
    updated_at: text('When it last changed, UTC'),
    decisions: z.array(objectAnswer).describe('Decisions that wait for a second operator'),
  })
  .meta({ id: 'OperatorPendingIdentity' });

const identityOperations = () => [
  defineOperation({
    command: 'identity list',
    method: 'GET',
    path: '/operator/identities',
    operationId: 'listIdentities',
    summary: 'List the verifications of all accounts that wait for a decision',
    result: pagedList(pending).meta({ id: 'OperatorIdentities' }),
    shape: toPagedList,
  }),
  defineOperation({
    command: 'identity show',
    method: 'GET',
    path: '/operator/identities/{user}',
    operationId: 'getIdentity',
    summary: 'See the sessions of a recipient and the decisions about them',
    result: z
      .object({
        account: text('The account'),
        sessions: z.array(objectAnswer).describe('Verification sessions, newest first'),
        decisions: z.array(objectAnswer).describe('Decisions with their reasons, newest first'),
        findings: z.array(findingsAnswer).describe('What was read, by upload, newest first'),
      })
      .meta({ id: 'OperatorIdentity' }),
    refusals: [404, 410],
  }),
  defineOperation({
    command: 'identity decide',
    method: 'POST',
    path: '/operator/identities/{user}/decision',
    operationId: 'decideIdentityAsOperator',
    summary: 'Decide about the identity of a recipient',
    description: 'Where the account requires two people, a second operator decides the same.',
    result: z
      .object({ session_id: text('The session'), status: text('Of the session') })
      .meta({ id: 'OperatorIdentityDecision' }),
    refusals: [404, 409],
  }),
];

const images = z
  .object({
    session_id: text('The verification session'),
    submission: count('The upload'),
    images: z
      .array(
        z.object({
          type: text('Which side of the document, or the face'),
          media_type: text('image/jpeg'),
          content: text('Base64'),
        }),
      )
      .describe('Of the newest upload'),
  })
  .meta({ id: 'IdentityImages' });

const viewBody = z.object({ reason: reasonField }).meta({ id: 'ViewImagesRequest' });

type View = { user: string };

/** Not a read: who looked at a document is in the audit log. */
const viewRoute = (): Route<OperatorServices> =>
  defineRoute<OperatorServices, View, unknown, z.output<typeof viewBody>>({
    method: 'POST',
    path: '/operator/identities/{user}/images',
    isVersioned: true,
    operationId: 'viewIdentityImages',
    tag: 'Operators',
    summary: 'See the images of a verification',
    description: 'Needs the permission `comply`. Who saw them, and why, is in the audit log.',
    access: 'operator',
    params: z.object({ user: z.string().max(100).describe('Token of the recipient') }),
    body: viewBody,
    response: images,
    refusals: [404],
    handle: async (routeContext, { params, body }) => {
      const userId = findTokenId('user', params.user);
      if (userId === undefined) throw new AppError('not_found', 'No such user');
      return performAct(routeContext, {
        name: 'identity view',
        permission: 'comply',
        values: {},
        given: params,
        reason: body.reason,
        run: async (context) => {
          const key = await getUserKey(context, userId);
          const opened = await openImages({ sql: context.db.system, keys: context.keys }, key);
          return {
            session_id: opened.session.id,
            submission: opened.session.submission,
            images: opened.images.map(({ type, bytes }) => ({
              type,
              media_type: 'image/jpeg',
              content: bytes.toString('base64'),
            })),
          };
        },
      });
    },
  });

const screening = z
  .object({ screenings: z.array(objectAnswer).describe('Empty where there was none') })
  .meta({ id: 'OperatorScreenings' });

const toScreenings = (screenings: unknown) => ({ screenings });

const screeningOperations = () => [
  defineOperation({
    command: 'screening show',
    method: 'GET',
    path: '/operator/screenings',
    operationId: 'listScreenings',
    summary: 'See how a recipient or a payout was screened',
    description: 'Exactly one of `user` and `payout` is required. Hits have their evidence.',
    result: screening,
    shape: toScreenings,
    refusals: [404],
  }),
  defineOperation({
    command: 'screening evidence',
    method: 'POST',
    path: '/operator/screenings/evidence',
    operationId: 'viewScreeningEvidence',
    summary: 'See the texts that were compared for the hits of a recipient or a payout',
    description:
      'Exactly one of `user` and `payout` is required. Who saw the texts is in the audit log.',
    result: z
      .object({
        evidence: z
          .array(objectAnswer)
          .describe('Per screening with hits, newest first; empty where there was none'),
      })
      .meta({ id: 'OperatorScreeningEvidence' }),
    shape: (found) => ({ evidence: found }),
    refusals: [404, 410],
  }),
  defineOperation({
    command: 'screening opinions',
    method: 'POST',
    path: '/operator/screenings/opinions',
    operationId: 'viewScreeningOpinions',
    summary: 'See what the screening service answered about a payout',
    description: 'Who saw the answers is in the audit log.',
    result: z
      .object({
        opinions: z
          .array(objectAnswer)
          .describe('Newest first; empty where the service was not asked'),
      })
      .meta({ id: 'OperatorScreeningOpinions' }),
    shape: (found) => ({ opinions: found }),
    refusals: [404],
  }),
  defineOperation({
    command: 'screening decide',
    method: 'POST',
    path: '/operator/screenings/decision',
    operationId: 'decideScreening',
    summary: 'Decide about the hits of a recipient or a payout',
    description: 'Exactly one of `user` and `payout` is required.',
    result: z.object({}).meta({ id: 'DecidedScreening' }),
    shape: () => ({}),
    refusals: [404, 409],
  }),
];

const legalHold = z
  .object({
    hold: text('The hold'),
    account: text('The account'),
    user_token: text('The recipient'),
    reason: text('Why'),
    placed_by: text('The operator who placed it'),
    placed_at: text('When it was placed, UTC'),
    until: text('Until when, UTC'),
    ended_by: optionalText('Who ended it before its date; null if it was not ended early'),
    ended_at: optionalText('When it was ended before its date, UTC'),
  })
  .meta({ id: 'LegalHold' });

const holdOperations = () => [
  defineOperation({
    command: 'user erase',
    method: 'POST',
    path: '/operator/recipients/{user}/erasure',
    operationId: 'eraseRecipient',
    summary: 'Erase the personal data of a recipient forever',
    result: z
      .object({
        user_token: text('The recipient'),
        erased_at: text('When, UTC'),
      })
      .meta({ id: 'ErasedRecipient' }),
    refusals: [404, 409, 410],
  }),
  defineOperation({
    command: 'user hold',
    method: 'POST',
    path: '/operator/recipients/{user}/holds',
    operationId: 'placeLegalHold',
    summary: 'Keep the data of a recipient until a date',
    result: legalHold,
    refusals: [404, 409, 410],
  }),
  defineOperation({
    command: 'user release-hold',
    method: 'POST',
    path: '/operator/holds/{hold}/release',
    operationId: 'releaseLegalHold',
    summary: 'End a legal hold before its date',
    result: legalHold,
    refusals: [404, 409],
  }),
  defineOperation({
    command: 'user holds',
    method: 'GET',
    path: '/operator/holds',
    operationId: 'listLegalHolds',
    summary: 'List legal holds on the data of recipients',
    result: pagedList(legalHold).meta({ id: 'LegalHolds' }),
    shape: toPagedList,
  }),
];

export const reviewOperations = () => [
  ...identityOperations(),
  viewRoute(),
  ...screeningOperations(),
  ...clearanceOperations(),
  ...holdOperations(),
];
