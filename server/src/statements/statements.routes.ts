import { Readable } from 'node:stream';
import { z } from 'zod';
import { AppError } from '../core/errors.ts';
import { isUuid } from '../core/ids.ts';
import { getPreference } from '../http/accept.ts';
import { type Answer, jsonType } from '../http/problem.ts';
import { type BaseServices, defineRoute, type Route, type RouteContext } from '../http/route.ts';
import { dateQuery } from '../http/schema.ts';
import { findWallet } from '../ledger/ledger.ts';
import { hasCamt053, writeCamt053 } from './camt053.ts';
import { pdfEntriesMax, writeStatementPdf } from './pdf.ts';
import { type Period, type PeriodQuery, periodDaysMax, readPeriod } from './period.ts';
import { statementAnswer, writeCsv, writeJson } from './statement-view.ts';
import { readStatement, type Statement, type StatementWallet } from './statements.ts';

const formats = ['json', 'csv', 'pdf', 'camt.053'] as const;
type Format = (typeof formats)[number];

const mediaTypes: Readonly<Record<Format, string>> = {
  json: 'application/json',
  csv: 'text/csv',
  pdf: 'application/pdf',
  'camt.053': 'application/xml',
};

const statementQuery = z.object({
  date: dateQuery.describe('One day'),
  month: z
    .string()
    .regex(/^\d{4}-(?:0[1-9]|1[0-2])$/, { error: 'must be a month, YYYY-MM' })
    .optional()
    .describe('One month, YYYY-MM'),
  from: dateQuery.describe('The first day'),
  to: dateQuery.describe(`The last day, at most ${periodDaysMax} days with the first`),
  format: z.enum(formats).optional().describe('Instead of the Accept header'),
});

const description = `Give \`date\`, \`month\`, or \`from\` and \`to\`; days are UTC. The period must have ended. Entries never change, so that a statement has the same bytes whenever it is read, and the statement of the next day opens with its closing balance.

The form follows \`format\`, else the Accept header: JSON (the default), CSV, PDF (up to ${pdfEntriesMax} entries) or ISO 20022 camt.053.001.08 (\`application/xml\`; currencies of ISO 4217 only). In CSV an apostrophe precedes text that a spreadsheet would run as a formula.`;

export function statementRoutes(): Route<BaseServices>[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/account/balance/{balance_token}/statement',
      isVersioned: true,
      operationId: 'getStatement',
      tag: 'Account',
      summary: 'Download the statement of a balance',
      description,
      access: 'balance:read',
      params: z.object({ balance_token: z.string() }),
      query: statementQuery,
      response: statementAnswer,
      produces: ['text/csv', 'application/pdf', 'application/xml'],
      refusals: [404],
      handle: async (context, { params, query }): Promise<Answer> => {
        const period = readPeriod(query);
        const wallet = await getWallet(context, params.balance_token);
        const format = query.format ?? chooseFormat(context.request.accept);
        const session = context.env.db.tenant(context.accountId);
        if (format === 'camt.053' && !hasCamt053(wallet.currency)) {
          const detail = `camt.053 holds currencies of ISO 4217 only, and not ${wallet.currency}`;
          throw new AppError('not_acceptable', detail);
        }
        const statement = await readStatement(session, wallet, period);
        if (statement === undefined) throw refuseOpen(period, query);
        return answer(statement, format, context.env.name);
      },
    }),
  ];
}

/** @throws AppError not_found, also for a malformed token. */
async function getWallet(
  { env, accountId }: RouteContext<BaseServices>,
  token: string,
): Promise<StatementWallet> {
  const session = env.db.tenant(accountId);
  const wallet = isUuid(token) ? await findWallet(session, { accountId, token }) : undefined;
  if (wallet === undefined) throw new AppError('not_found', 'Balance not found');
  return { accountId, token: wallet.token, currency: wallet.currency };
}

/** The form that the client prefers; JSON comes first among equals. */
function chooseFormat(accept: string): Format {
  const weigh = (format: Format): number => {
    const { quality, isNamed } = getPreference(accept, mediaTypes[format]);
    return quality + (quality > 0 && isNamed ? 1e-6 : 0);
  };
  return formats.reduce((best, format) => (weigh(format) > weigh(best) ? format : best));
}

function refuseOpen({ lastDay }: Period, { date, month }: PeriodQuery): AppError {
  const parameter = date !== undefined ? 'date' : month !== undefined ? 'month' : 'to';
  const detail = `the day ${lastDay} (UTC) has not ended: a statement is final, so it ends yesterday or earlier`;
  return new AppError('invalid_request', detail, {
    faults: [{ parameter, code: 'period_open', detail }],
  });
}

async function answer(
  statement: Statement,
  format: Format,
  environmentName: BaseServices['name'],
): Promise<Answer> {
  const { period, currency, credits, debits } = statement;
  const extension = format === 'camt.053' ? 'xml' : format;
  const name = `statement-${currency}-${period.firstDay}-${period.lastDay}.${extension}`;
  const headers = { 'content-disposition': `attachment; filename="${name}"` };
  switch (format) {
    case 'json':
      return { status: 200, contentType: jsonType, body: Readable.from(writeJson(statement)) };
    case 'csv': {
      const contentType = 'text/csv; charset=utf-8; header=present';
      return { status: 200, contentType, body: Readable.from(writeCsv(statement)), headers };
    }
    case 'camt.053': {
      const body = Readable.from(writeCamt053(statement, environmentName));
      return { status: 200, contentType: 'application/xml; charset=utf-8', body, headers };
    }
    case 'pdf': {
      if (credits + debits > BigInt(pdfEntriesMax)) {
        const detail = `a PDF has at most ${pdfEntriesMax} entries, and the period has ${credits + debits}: take a shorter one, or another format`;
        throw new AppError('not_acceptable', detail);
      }
      const body = Buffer.from(await writeStatementPdf(statement, environmentName));
      return { status: 200, contentType: 'application/pdf', body, headers };
    }
  }
}
