import { z } from 'zod';
import { type SubmissionFindings } from './checks.ts';
import { notComparedReasons } from './faces/comparer.ts';
import { faceResults, similarities } from './faces/face-finding.ts';
import { opinionSchema } from './provider/provider.ts';
import { comparedFields } from './reading/compare.ts';
import { checkNames } from './reading/zone.ts';

/** Findings as the API and the command `identity show` write them. */

const documentAnswer = z
  .object({
    code: z.string().describe('As in the zone: `P` of passports, `I`, `A` or `C` of cards'),
    issuing_state: z.string().describe('The code of ICAO 9303-3, section 5'),
    surname: z.string().describe('Transliterated by the issuing state'),
    given_names: z.string().describe('Cut where the zone had no room'),
    number: z.string().describe('The document number'),
    nationality: z.string().describe('The code of ICAO 9303-3, section 5'),
    date_of_birth: z.string().describe('YYYY-MM-DD'),
    sex: z.string().describe('As the document has it'),
    expires_on: z.string().describe('YYYY-MM-DD'),
    is_expired: z.boolean().describe('By the clock of the environment'),
  })
  .meta({ id: 'ReadDocument' });

export const findingsAnswer = z
  .object({
    session_id: z.string().describe('The verification session'),
    submission: z.int().describe('The upload, counted from 1'),
    document: z
      .object({
        result: z
          .enum(['waiting', 'read', 'partly_read', 'not_read', 'failed', 'not_installed'])
          .describe(
            '`read`: all check digits hold. `partly_read`: those of number, birth and expiry do, ' +
              'another does not. `not_read`: no zone whose check digits hold',
          ),
        format: z
          .enum(['TD1', 'TD2', 'TD3', ''])
          .describe('TD3: passports. TD1 and TD2: cards. "" if nothing was read'),
        agreeing: z.int().describe('How many preparations of the picture gave the same text'),
        checks: z
          .array(
            z.object({
              name: z.enum(checkNames).describe('What the digit protects'),
              holds: z.boolean().describe('Whether it fits what was read'),
            }),
          )
          .describe(
            'The check digits of the zone. None protects the names and states, and none tells ' +
              'letters apart that are ten apart, as M and W',
          ),
        fields: documentAnswer.nullable().describe('Null if nothing was read'),
        comparisons: z
          .array(
            z.object({
              field: z.enum(comparedFields).describe('What is compared'),
              result: z
                .enum(['same', 'similar', 'different', 'unknown'])
                .describe('`unknown`: one side says nothing about it'),
              document: z.string().describe('As read'),
              user: z.string().describe('As the client gave it'),
            }),
          )
          .describe('The document and what the client has given about the user now'),
      })
      .meta({ id: 'DocumentFinding' })
      .describe('What was read from the pictures of the document'),
    face: z
      .object({
        result: z
          .enum(faceResults)
          .describe('`waiting`: not compared yet. `failed`: the comparison failed five times'),
        similarity: z
          .enum([...similarities, ''])
          .describe('A band of the score, which does not decide; "" if not compared'),
        score: z
          .string()
          .describe('From 0.00 to 1.00, where 1.00 is the same picture; "" if not compared'),
        reason: z.enum([...notComparedReasons, '']).describe('Why the faces were not compared'),
        decides: z.literal(false).describe('The score is for the person who decides'),
      })
      .meta({ id: 'FaceFinding' })
      .describe('How alike the face and the portrait on the document are, by a model'),
    provider: z
      .object({
        state: z
          .enum(['waiting', 'done', 'failed', 'skipped'])
          .describe('`failed`: no usable answer in three days'),
        opinion: opinionSchema.nullable().describe('Null until it is done'),
      })
      .meta({ id: 'ProviderFinding' })
      .nullable()
      .describe('The opinion of the configured provider; null without one'),
    liveness: z
      .literal('not_checked')
      .describe('One still picture cannot show that a living person was in front of the camera'),
  })
  .meta({ id: 'IdentityFindings' });

export type FindingsAnswer = z.infer<typeof findingsAnswer>;

export function writeFindings(findings: SubmissionFindings): FindingsAnswer {
  const { sessionId, submission, document, face, provider } = findings;
  const { result, agreeing, read } = document;
  const fields = read && {
    code: read.document.code,
    issuing_state: read.document.issuingState,
    surname: read.document.surname,
    given_names: read.document.givenNames,
    number: read.document.number,
    nationality: read.document.nationality,
    date_of_birth: read.document.dateOfBirth,
    sex: read.document.sex,
    expires_on: read.document.expiresOn,
    is_expired: read.isExpired,
  };
  return {
    session_id: sessionId,
    submission,
    document: {
      result,
      format: read?.format ?? '',
      agreeing,
      checks: checkNames.flatMap((name) => {
        const holds = read?.checks[name];
        return holds === undefined ? [] : [{ name, holds }];
      }),
      fields: fields ?? null,
      comparisons: [...(read?.comparisons ?? [])],
    },
    face: { ...face, decides: false },
    provider: provider === undefined ? null : writeProvider(provider),
    liveness: 'not_checked',
  };
}

function writeProvider({ state, opinion }: NonNullable<SubmissionFindings['provider']>) {
  const opened = opinion === undefined ? null : opinionSchema.parse(JSON.parse(opinion));
  return { state, opinion: opened };
}
