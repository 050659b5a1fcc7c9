import { z } from 'zod';
import type { Session, Statement } from '../db/postgres/pool.ts';
import { column, defineQuery, exec, maybeOne } from '../db/rows.ts';
import type { Sender } from '../rails/contract/contract.ts';

/** Who sends: the client as the operator has verified it. Clients cannot change it. */

export const registrationTypes = ['LEIX', 'RAID', 'TXID', 'MISC'] as const;

/** A row of `account_senders` as JSON. */
export const senderRow = z
  .object({
    legal_name: z.string(),
    address1: z.string(),
    city: z.string(),
    state_province: z.string(),
    postal_code: z.string(),
    country_code: z.string(),
    registration_type: z.enum(['', ...registrationTypes]),
    registration_id: z.string(),
    registration_authority: z.string(),
  })
  .transform(
    (row): Sender => ({
      legalName: row.legal_name,
      address1: row.address1,
      city: row.city,
      stateProvince: row.state_province,
      postalCode: row.postal_code,
      countryCode: row.country_code,
      registrationType: row.registration_type,
      registrationId: row.registration_id,
      registrationAuthority: row.registration_authority,
    }),
  );

const findSenderQuery = defineQuery({
  name: 'find_account_sender',
  text: `select to_jsonb(s) as sender from account_senders s where s.account_id = $1`,
  columns: { sender: column.json(senderRow) },
});

/** Undefined where the operator has stored none. */
export async function findSender(session: Session, accountId: string): Promise<Sender | undefined> {
  return (await maybeOne(session, findSenderQuery, [accountId]))?.sender;
}

const storeSender: Statement = {
  name: 'store_account_sender',
  text: `
    insert into account_senders (account_id, legal_name, address1, city, state_province, postal_code,
      country_code, registration_type, registration_id, registration_authority, changed_at)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, environment_now())
    on conflict (account_id) do update set legal_name = excluded.legal_name,
      address1 = excluded.address1, city = excluded.city,
      state_province = excluded.state_province, postal_code = excluded.postal_code,
      country_code = excluded.country_code, registration_type = excluded.registration_type,
      registration_id = excluded.registration_id,
      registration_authority = excluded.registration_authority, changed_at = excluded.changed_at`,
};

export async function setSender(
  session: Session,
  accountId: string,
  sender: Sender,
): Promise<void> {
  await exec(session, storeSender, [
    accountId,
    sender.legalName,
    sender.address1,
    sender.city,
    sender.stateProvince,
    sender.postalCode,
    sender.countryCode,
    sender.registrationType,
    sender.registrationId,
    sender.registrationAuthority,
  ]);
}

/** ISO 17442: 20 characters of which the last two are check digits (ISO 7064, mod 97-10). */
export function isLei(text: string): boolean {
  if (!/^[A-Z0-9]{18}\d{2}$/.test(text)) return false;
  const digits = text.replaceAll(/[A-Z]/g, (letter) => String(Number.parseInt(letter, 36)));
  return BigInt(digits) % 97n === 1n;
}
