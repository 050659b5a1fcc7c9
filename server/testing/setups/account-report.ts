import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { InboundProblem, RailObservation } from '../../src/rails/contract/contract.ts';
import { wrap } from './bank-messages.ts';
import { debtorIban, type TestRail } from './iso20022.ts';

/** Account reports of a bank, built entry by entry. */

export type EntryParts = {
  reference: string;
  amount?: string;
  currency?: string;
  direction?: 'DBIT' | 'CRDT';
  status?: string;
  day?: string;
  /** The bank's reference. */
  number?: string;
  /** Further elements of the entry, and of its only transaction. */
  entry?: string;
  details?: string;
};

export function writeBooking(parts: EntryParts): string {
  const { reference, details = '' } = parts;
  const name = reference === '' ? '' : `<EndToEndId>${reference}</EndToEndId>`;
  return writeBareEntry({
    ...parts,
    entry: `${parts.entry ?? ''}<NtryDtls><TxDtls><Refs>${name}<Prtry><Tp>x</Tp><Ref>y</Ref></Prtry>
      </Refs>${details}</TxDtls></NtryDtls>`,
  });
}

/** An entry with what `entry` holds and nothing else. */
export function writeBareEntry(parts: Omit<EntryParts, 'reference'>): string {
  const { amount = '100.00', currency = 'EUR', direction = 'DBIT', number = '' } = parts;
  const { status = '<Cd>BOOK</Cd>', day = '<Dt>2026-03-04</Dt>', entry = '' } = parts;
  const numberText = number === '' ? '' : `<AcctSvcrRef>${number}</AcctSvcrRef>`;
  return `<Ntry><Amt Ccy="${currency}">${amount}</Amt><CdtDbtInd>${direction}</CdtDbtInd>
    <Sts>${status}</Sts><BookgDt>${day}</BookgDt>${numberText}${entry}</Ntry>`;
}

export type ReportParts = { name?: string; account?: string };

let count = 0;

/** Every message has an id of its own. */
export function writeReport(entries: string, parts: ReportParts = {}): string {
  const { name = 'camt.054.001.08', account = debtorIban } = parts;
  const [message, report] = name.startsWith('camt.053')
    ? ['BkToCstmrStmt', 'Stmt']
    : name.startsWith('camt.052')
      ? ['BkToCstmrAcctRpt', 'Rpt']
      : ['BkToCstmrDbtCdtNtfctn', 'Ntfctn'];
  count += 1;
  return wrap(
    name,
    `<${message}><GrpHdr><MsgId>B${count}</MsgId><CreDtTm>2026-03-04T08:00:00</CreDtTm></GrpHdr>
     <${report}><Id>1</Id><Acct><Id><IBAN>${account}</IBAN></Id></Acct>${entries}</${report}>
     </${message}>`,
  );
}

export type Received = { observations: RailObservation[]; problems: InboundProblem[] };

/** Puts a file into the inbox, runs a pass, and returns what the rail reported. */
export async function receive(rail: TestRail, content: string | Buffer): Promise<Received> {
  const { observations, problems } = rail.host;
  const before = { observations: observations.length, problems: problems.length };
  count += 1;
  await mkdir(join(rail.folder, 'inbox'), { recursive: true });
  await writeFile(join(rail.folder, 'inbox', `${count}.xml`), content);
  await rail.work();
  return {
    observations: observations.slice(before.observations),
    problems: problems.slice(before.problems),
  };
}
