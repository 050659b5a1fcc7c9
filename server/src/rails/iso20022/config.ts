import { resolve } from 'node:path';
import { isValidBIC, isValidIBAN } from 'ibantools';
import { z } from 'zod';
import type { ExclusiveResource } from '../contract/contract.ts';
import { providerAddress } from '../kit/provider-address.ts';

/** The configuration of one bank connection. */

/** Lower-case letters, digits and hyphens are safe in a file's name, and EPC's ids allow them. */
const messagePrefixPattern = /^[A-Za-z0-9]{1,8}$/;
const dayPattern = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/;
const timePattern = /^(?:[01]\d|2[0-3]):[0-5]\d$/;
/** Of an authority, as far as messages have room. */
export const reportingCodePattern = /^[A-Za-z0-9./-]{1,10}$/;
const fingerprintPattern = /^SHA256:[A-Za-z0-9+/]{43}$/;

const partySchema = z.strictObject({
  name: z.string().min(1).max(140),
  /** The identification that the bank gave, where it asks for one. */
  id: z.string().max(35).default(''),
});

const debtorSchema = z.strictObject({
  /** What `options.debtor` of a payer names. */
  key: z.string().regex(/^[a-z0-9_]{1,40}$/),
  name: z.string().min(1).max(140),
  /**
   * ISO 3166-1 alpha-2, for the address, which has a town, too. "": no address is sent, which only
   * payments in euro inside the European Economic Area allow.
   */
  country: z
    .string()
    .regex(/^(?:[A-Z]{2})?$/)
    .default(''),
  town: z.string().max(35).default(''),
  iban: z
    .string()
    .max(34)
    .refine((iban) => iban === '' || isValidIBAN(iban), 'must be a valid IBAN')
    .default(''),
  /** An account number where there is no IBAN. */
  account: z.string().max(34).default(''),
  bic: z
    .string()
    .max(11)
    .refine((bic) => bic === '' || isValidBIC(bic), 'must be a valid BIC')
    .default(''),
  /** The account's own, for banks that require it; "": not written. */
  accountCurrency: z
    .string()
    .regex(/^(?:[A-Z]{3})?$/)
    .default(''),
  /** Currencies that are paid from it; the first debtor with a currency pays it. */
  currencies: z
    .array(z.string().regex(/^[A-Z]{3}$/))
    .min(1)
    .max(50),
});
export type Debtor = z.infer<typeof debtorSchema>;

const foldersSchema = {
  outbox: z.string().min(1).max(400).default('outbox'),
  inbox: z.string().min(1).max(400).default('inbox'),
  /** For files that were processed. */
  archive: z.string().min(1).max(400).default('archive'),
  /** For files that cannot be read, until a person has dealt with them. */
  quarantine: z.string().min(1).max(400).default('quarantine'),
};

const directorySchema = z.strictObject({
  mode: z.literal('directory'),
  /** Absolute; the four folders are relative to it, or absolute themselves. On one file system. */
  folder: z.string().startsWith('/').max(400),
  ...foldersSchema,
});

const sftpSchema = z.strictObject({
  mode: z.literal('sftp'),
  host: z.string().min(1).max(253),
  port: z.int().min(1).max(65_535).default(22),
  user: z.string().min(1).max(100),
  /** PEM or OpenSSH form; passwords are not supported. */
  privateKey: z.string().min(1).max(20_000),
  passphrase: z.string().max(1_000).default(''),
  /** As `ssh-keygen -lf` prints them. Several, so that the bank can change its key. */
  hostKeyFingerprints: z.array(z.string().regex(fingerprintPattern)).min(1).max(10),
  timeoutSeconds: z.int().min(1).max(600).default(30),
  ...foldersSchema,
});

const exchangeSchema = z.discriminatedUnion('mode', [directorySchema, sftpSchema]);
export type DirectoryConfig = z.infer<typeof directorySchema>;
export type SftpConfig = z.infer<typeof sftpSchema>;

const scheduleSchema = z.strictObject({
  timeZone: z.string().refine(isTimeZone, 'must be an IANA time zone').default('UTC'),
  cutOffs: z.array(z.string().regex(timePattern)).max(48).default([]),
  everySeconds: z.int().min(0).max(86_400).default(60),
  weekend: z.array(z.int().min(0).max(6)).max(6).default([0, 6]),
  closesWithTarget: z.boolean().default(false),
  closedDays: z.array(z.string().regex(dayPattern)).max(400).default([]),
  executionDays: z.int().min(0).max(10).default(0),
});

const instantSchema = z.strictObject({
  /** How long the bank has to answer, from the closing of the file. */
  answerSeconds: z.int().min(5).max(120).default(10),
  /** A payment that could not be delivered for so long is rejected instead of being sent late. */
  sendSeconds: z.int().min(10).max(86_400).default(300),
  /** How often the inbox is read while an answer is awaited. */
  pollSeconds: z.int().min(1).max(60).default(1),
  /** The most that one payment may be, in euro; "": the maximum of SEPA. */
  amountMax: z
    .string()
    .regex(/^(?:\d{1,9}(?:\.\d{2})?)?$/, 'must be an amount such as 100000.00')
    .default(''),
});

const corridorSchema = z.strictObject({
  /** ISO 3166-1 alpha-3. */
  countries: z
    .array(z.string().regex(/^[A-Z]{3}$/))
    .min(1)
    .max(250),
  /** Whether a cross-border payment without a purpose is rejected at the quote. */
  isPurposeRequired: z.boolean().default(false),
  /** What the authorities want to know (RgltryRptg). */
  regulatoryReporting: z
    .strictObject({
      indicator: z.enum(['CRED', 'DEBT', 'BOTH']),
      authority: z.string().max(140).default(''),
      authorityCountry: z
        .string()
        .regex(/^(?:[A-Z]{2})?$/)
        .default(''),
      type: z.string().max(35).default(''),
      /** From RemittanceReason to the authority's codes; a code that is not listed goes unchanged. */
      codes: z.record(z.string().max(40), z.string().regex(reportingCodePattern)).default({}),
    })
    .optional(),
});
export type Corridor = z.infer<typeof corridorSchema>;

/** A scheme reached through a bank that takes pacs.008 messages. */
const schemeSchema = z.strictObject({
  profile: z.enum(['fednow', 'rtp']),
  /** The routing number of the bank that holds the debtor accounts. */
  routingNumber: z.string().regex(/^\d{9}$/, 'must have nine digits'),
  /** The most that one payment may be, in US dollars; "": no limit of ours. */
  amountMax: z
    .string()
    .regex(/^(?:\d{1,12}(?:\.\d{2})?)?$/, 'must be an amount such as 1000000.00')
    .default(''),
});

/** The bank's service, or an adapter of it, that compares the name with the holder of the account. */
const verificationOfPayeeSchema = z.strictObject({
  url: providerAddress,
  /** The bearer token. */
  token: z.string().min(1).max(10_000),
});
export type VerificationOfPayee = z.infer<typeof verificationOfPayeeSchema>;

const reportChecks = ['pages', 'numbers', 'notification_numbers', 'balances'] as const;

const reportsSchema = z.strictObject({
  /** What of a series of account reports is noticed when it is missing. */
  checks: z
    .array(z.enum(reportChecks))
    .max(reportChecks.length)
    .default(['pages', 'numbers', 'balances']),
  /** How long a missing report counts as late. */
  lateHours: z.int().min(0).max(720).default(24),
  /** Within how many days a statement must show payments that left; 0: it need not. */
  statementDays: z.int().min(0).max(60).default(5),
});

/** The version with which a bank is a door to a scheme. */
const schemeVersion = 'pacs.008.001.09';

export const configSchema = z
  .strictObject({
    version: z
      .enum(['pain.001.001.09', 'pain.001.001.10', schemeVersion])
      .default('pain.001.001.09'),
    /** With pacs.008.001.09, and only then. */
    scheme: schemeSchema.optional(),
    /** Begins every message id; another one for every rail at the same bank. */
    messagePrefix: z.string().regex(messagePrefixPattern),
    initiatingParty: partySchema,
    debtors: z.array(debtorSchema).min(1).max(50),
    schedule: scheduleSchema,
    paymentsPerFileMax: z.int().min(1).max(2_000).default(500),
    /** One debit for a whole batch on the account, where the bank does so. */
    batchBooking: z.boolean().default(false),
    /** Who pays the banks of a payment across a border: DEBT, CRED or SHAR. */
    chargeBearer: z.enum(['DEBT', 'CRED', 'SHAR']).default('SHAR'),
    /** From RemittanceReason to ISO 20022 purpose codes; they take precedence over the built-in ones. */
    purposeCodes: z.record(z.string().max(40), z.string().regex(/^[A-Z]{4}$/)).default({}),
    /** From RemittanceReason to category purposes, such as SALA, by which banks process batches. */
    categoryPurposes: z.record(z.string().max(40), z.string().regex(/^[A-Z]{4}$/)).default({}),
    /** What cross-border payments to some countries need; the first entry with a country applies. */
    corridors: z.array(corridorSchema).max(250).default([]),
    /** Of payers with the option `service: "instant"`. */
    instant: instantSchema.prefault({}),
    /** Which missing account reports open an exception. */
    reports: reportsSchema.prefault({}),
    /** Absent: names are not compared. */
    verificationOfPayee: verificationOfPayeeSchema.optional(),
    /** The remittance text; {reference} and {originator} are replaced. */
    remittanceText: z.string().max(140).default('{reference}'),
    exchange: exchangeSchema,
    /** How often the inbox is read. */
    pollSeconds: z.int().min(1).max(86_400).default(60),
    fileBytesMax: z.int().min(1_000).max(200_000_000).default(20_000_000),
  })
  .superRefine((config, context) => {
    const { debtors, schedule, version, scheme } = config;
    const addFault = (message: string): void => {
      context.addIssue({ code: 'custom', message });
    };
    if ((version === schemeVersion) !== (scheme !== undefined))
      addFault(`version ${schemeVersion} and scheme must be configured together`);
    const keys = debtors.map(({ key }) => key);
    if (new Set(keys).size !== keys.length) addFault('debtors must have different keys');
    for (const debtor of debtors) {
      const { key, iban, account, country, town, currencies } = debtor;
      if ((iban === '') === (account === ''))
        addFault(`debtor ${key} must have an iban or an account, and not both`);
      // Since November 2026 banks take no address without both, and no transfer abroad without one.
      if (scheme !== undefined && account === '')
        addFault(`debtor ${key} must have an account, by which the scheme knows it`);
      const isLocal = currencies.every((code) => code === 'EUR') && isEeaCountry(iban.slice(0, 2));
      const hasBoth = country !== '' && town.trim() !== '';
      const hasNone = country === '' && town === '';
      if (!hasBoth && !(isLocal && hasNone))
        addFault(`debtor ${key} must have a country and a town`);
    }
    const { cutOffs } = schedule;
    if (cutOffs.some((time, index) => index > 0 && time <= (cutOffs[index - 1] ?? ''))) {
      addFault('cutOffs must be ascending');
    }
  });
export type Config = z.infer<typeof configSchema>;

/** Banks refuse a second message of an id, and one ledger is reconciled with an account. */
export function listExclusives({
  messagePrefix,
  debtors,
  exchange,
}: Config): readonly ExclusiveResource[] {
  const { outbox, inbox, archive, quarantine } = exchange;
  const folders = Object.entries({ outbox, inbox, archive, quarantine }).map(
    ([name, path]): ExclusiveResource => {
      const what = `the folder ${name}`;
      if (exchange.mode === 'directory') return { what, folder: resolve(exchange.folder, path) };
      const { host, port, user } = exchange;
      return { what, value: `sftp ${user}@${host.toLowerCase()}:${port}/${path}` };
    },
  );
  return [
    { what: 'the message prefix', value: messagePrefix },
    ...debtors.map(({ iban, account, bic }) => ({
      what: 'the debtor account',
      value: iban === '' ? `${account} ${bic}` : iban.replaceAll(' ', ''),
    })),
    ...folders,
  ];
}

const eeaCountries = new Set(
  'AT BE BG HR CY CZ DK EE FI FR DE GR HU IS IE IT LV LI LT LU MT NL NO PL PT RO SK SI ES SE'.split(
    ' ',
  ),
);

/** Whether IBANs with these two letters are of the European Economic Area. */
export function isEeaCountry(alpha2: string): boolean {
  return eeaCountries.has(alpha2);
}

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: name });
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}
