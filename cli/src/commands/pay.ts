import type { ArgumentsOf, Client, Payout } from '../../../sdk/src/index.ts';
import { type Context, defineCommand, type Values } from '../command.ts';
import { exitCodes, Failure, UsageError } from '../failure.ts';
import { findRecipient, take, type User } from '../find.ts';
import { printable } from '../table.ts';
import {
  checkWritable,
  findFault,
  formatArrival,
  formatCode,
  formatMoney,
  formatTime,
  isAmount,
  readAmount,
  readDuration,
  readPairs,
} from '../values.ts';
import { findRefusal } from './commit.ts';
import { estimateAmount, formatRating, listOffers, type Offer } from './destinations.ts';
import { collectDetails } from './details.ts';
import { describeDryRun } from './dry-run.ts';
import { commitAndFollow, withZone } from './pay-and-follow.ts';
import { describeTerms } from './payouts.ts';
import { createRecipient, personOptions, readFields, requireSamePerson } from './recipients.ts';
import { findPaid, isPaidMeanwhile } from './repeated-pay.ts';
import { preferStoredDetails } from './stored-details.ts';

/** A payout from nothing to its receipt. What is not given is asked where a person is there. */

const options = {
  to: { value: 'recipient', about: 'your identifier of the recipient, or the token' },
  ...personOptions,
  destination: { value: 'token', about: 'through which destination (outlay destinations)' },
  by: {
    value: 'type',
    about:
      'instead: the cheapest of this type, such as BANK_DEPOSIT; first those with stored details',
  },
  currency: { value: 'code', about: 'what the recipient gets' },
  amount: { value: 'amount', about: 'what you send, in the currency of --from' },
  receive: { value: 'amount', about: 'instead: what the recipient gets, in --currency' },
  from: { value: 'code', about: 'currency of the balance that pays (USD)' },
  detail: {
    value: 'name=value',
    about: 'what the destination needs, such as BankAccountNumber=…',
    isList: true,
  },
  reference: {
    value: 'id',
    about: 'your client_transfer_id, paid only once; repeated, it shows that payout',
  },
  at: { value: 'time', about: 'run it then (2026-12-01 or 2026-12-01T09:00:00-06:00), not now' },
  yes: { about: 'commit without asking' },
  dryRun: { about: 'show what the commit would do, for a recipient with stored details' },
  wait: { value: 'time', about: 'how long to follow the payout (15s, or 2s where it takes hours)' },
  receipt: { value: 'path', about: 'where to save the receipt (receipt-<payout>.pdf)' },
} as const;

type PayValues = Values<[], typeof options>;

export const payCommands = [
  defineCommand({
    name: 'pay',
    about: 'pay a recipient: destination, details, quote, commit, timeline, receipt',
    options,
    examples: [
      'pay',
      "pay --to ana --first-name Ana --last-name 'Gómez' --email ana@example.org --country MEX \\\n" +
        '    --by BANK_DEPOSIT --currency MXN --amount 200 --detail BankAccountNumber=032180000118359719 --yes',
      'pay --to ana --destination <token> --currency LTC --receive 0.5 --reference rent-11 --yes --json',
    ],
    next: 'payout watch <payout>',
    run: pay,
  }),
];

async function pay(context: Context, given: PayValues): Promise<void> {
  checkUsage(context, given);
  const client = context.connect();
  if (!given.dryRun && (await showPaid(context, client, given))) return;
  try {
    await payOnce(context, client, given);
  } catch (error) {
    // Another run was faster.
    if (!isPaidMeanwhile(error) || !(await showPaid(context, client, given))) throw error;
  }
}

/** Whether the reference was paid before: its payout is followed as after its commit. */
async function showPaid(context: Context, client: Client, values: PayValues): Promise<boolean> {
  const { output, signal } = context;
  const payout = await findPaid(client, values, signal);
  if (payout === undefined) return false;
  output.note(`The reference ${payout.client_transfer_id} was paid before; nothing is paid again.`);
  if (!output.isJson) output.note(describeTerms(output, payout));
  const { user_token, payout_token } = payout;
  const address = { user_token, payout_token };
  await commitAndFollow(context, client, { address, quote: payout, values, isRepeated: true });
  return true;
}

async function payOnce(context: Context, client: Client, given: PayValues): Promise<void> {
  const { output, signal } = context;
  const user = await chooseRecipient(context, client, given);
  const values = await completeAmount(context, given);
  const offer = await chooseOffer(context, client, { user, values });
  if (values.dryRun) return rehearse(context, client, { user, offer, values });
  const { destination_token, currency_code: currency } = offer;
  const place = { user_token: user.user_token, destination_token, currency };
  const details = await collectDetails(context, client, {
    place,
    given: readPairs(values.detail, '--detail'),
  });
  const quote = await client.createPayout(
    { user_token: user.user_token, body: describeOrder(values, { offer, details }) },
    { signal },
  );
  const address = { user_token: user.user_token, payout_token: quote.payout_token };
  if (!output.isJson) output.note(describeTerms(output, quote));
  await confirm(context, { quote, user, isAgreed: values.yes });
  await commitAndFollow(context, client, { address, quote, values, isRepeated: false });
}

async function rehearse(
  { output, signal }: Context,
  client: Client,
  { user: { user_token }, offer, values }: { user: User; offer: Chosen; values: PayValues },
): Promise<void> {
  const body = describeOrder(values, { offer, details: undefined });
  const quote = await client.createPayout({ user_token, body }, { signal, dryRun: true });
  const { dry_run: found } = quote;
  if (found === undefined) throw new Failure('The service knows no dry run');
  output.result(quote, () =>
    [describeTerms(output, quote), describeDryRun(output, found)].join('\n\n'),
  );
  const refusal = findRefusal(found.commit);
  if (refusal !== undefined) throw refusal;
}

/** Before anything is done. @throws UsageError that names every fault of the options. */
function checkUsage({ output }: Context, values: PayValues): void {
  const { to, destination, by, amount, receive, dryRun, detail, wait, receipt } = values;
  const faults = [
    dryRun && detail.length > 0
      ? '--dry-run stores nothing: leave --detail out, stored details are used'
      : undefined,
    dryRun && to === undefined ? '--to must be given with --dry-run' : undefined,
    amount !== undefined && receive !== undefined
      ? '--amount and --receive exclude each other'
      : undefined,
    destination !== undefined && by !== undefined
      ? '--destination and --by exclude each other'
      : undefined,
    findFault(() => amount !== undefined && readAmount(amount, '--amount')),
    findFault(() => receive !== undefined && readAmount(receive, '--receive')),
    findFault(() => readPairs(detail, '--detail')),
    findFault(() => readFields(values.set)),
    findFault(() => wait !== undefined && readDuration(wait, '--wait')),
    findFault(() => checkWritable(receipt ?? 'receipt.pdf', '--receipt')),
  ].filter((fault) => fault !== undefined);
  const missing = output.isInteractive ? [] : listMissing(values);
  if (missing.length > 0) {
    faults.push(`${missing.join(', ')} must be given when there is no terminal to ask in`);
  }
  if (faults.length > 0) throw new UsageError(faults.join('; '), 'outlay pay --help');
}

function listMissing(values: PayValues): string[] {
  const { to, destination, by, currency, amount, receive, yes, dryRun } = values;
  return [
    ...(to === undefined ? ['--to'] : []),
    ...(destination === undefined && by === undefined ? ['--destination or --by'] : []),
    ...(currency === undefined ? ['--currency'] : []),
    ...(amount === undefined && receive === undefined ? ['--amount or --receive'] : []),
    ...(yes || dryRun ? [] : ['--yes or --dry-run']),
  ];
}

const newest = 20;

async function chooseRecipient(context: Context, client: Client, values: PayValues): Promise<User> {
  const { output, ask, signal } = context;
  const { to } = values;
  if (to === undefined) {
    const known = await take(client.listUsers({}, { signal }), newest);
    const choices = known.map((user) => ({
      value: user as User | undefined,
      label: `${user.first_name} ${user.last_name}`,
      hint: `${user.internal_user_id}, ${user.country}`,
    }));
    const fresh = { value: undefined, label: 'A new recipient' };
    const chosen =
      choices.length === 0 ? undefined : await ask.select('Who is paid?', [...choices, fresh]);
    return chosen ?? createRecipient(context, client, { ...values, id: undefined });
  }
  const found = await findRecipient(client, to, signal);
  if (found !== undefined) {
    requireSamePerson(found, { ...values, id: to });
    return found;
  }
  if (values.dryRun) throw new Failure(`There is no recipient ${to}`, { code: 'not_found' });
  const isDescribed = [values.firstName, values.lastName, values.email, values.country].some(
    Boolean,
  );
  if (!isDescribed && !output.isInteractive) {
    throw new Failure(`There is no recipient ${to}`, {
      code: 'not_found',
      next: `outlay recipient create --id ${to} --first-name … --last-name … --email … --country …`,
    });
  }
  const created = await createRecipient(context, client, { ...values, id: to });
  output.note(`New recipient ${to}`);
  return created;
}

async function completeAmount({ ask }: Context, values: PayValues): Promise<PayValues> {
  const { amount, receive, from = 'USD' } = values;
  if (amount !== undefined || receive !== undefined) return values;
  const check = (answer: string): string | undefined =>
    isAmount(answer) ? undefined : 'An amount such as 12.50';
  return {
    ...values,
    amount: await ask.text({ message: `How much do you send, in ${from}?`, check }),
  };
}

type Chosen = Pick<Offer, 'destination_token' | 'currency_code'>;

async function chooseOffer(
  { ask, output, signal }: Context,
  client: Client,
  { user, values }: { user: User; values: PayValues },
): Promise<Chosen> {
  const { destination, by } = values;
  const from = values.from?.toUpperCase() ?? 'USD';
  const currency =
    values.currency?.toUpperCase() ?? (await askCurrency({ ask, signal }, client, user));
  if (destination !== undefined) return { destination_token: destination, currency_code: currency };
  const type = by?.toUpperCase();
  const corridor = {
    country_code: user.country,
    source_currency: from,
    destination_currency: currency,
  };
  const amount =
    values.receive === undefined
      ? readAmount(values.amount ?? '', '--amount')
      : await estimateAmount(client, corridor, {
          receive: readAmount(values.receive, '--receive'),
          type,
          signal,
        });
  const query = amount === undefined ? corridor : { ...corridor, amount };
  const offers = await listOffers(client, query, { signal });
  const fitting = offers.filter(
    ({ delivery_type }) => type === undefined || delivery_type === type,
  );
  const [cheapest, ...others] = fitting;
  if (cheapest === undefined) {
    throw new Failure(
      `No payer delivers ${currency} to ${user.country}${type === undefined ? '' : ` by ${type}`}`,
      {
        code: 'no_destination',
        next: `outlay destinations ${user.country} --all`,
      },
    );
  }
  if (type !== undefined || !output.isInteractive) {
    const { user_token } = user;
    if (values.detail.length > 0) return cheapest;
    return preferStoredDetails({ output, signal }, client, {
      user_token,
      offers: [cheapest, ...others],
    });
  }
  return ask.select(
    'How should it arrive?',
    fitting.map((offer) => ({
      value: offer,
      label: [
        `${formatCode(offer.delivery_type)}, ${offer.payer_name}`,
        `costs ${formatMoney(offer.total_debit, from)}`,
        `arrives ${formatArrival(offer.destination_amount, { currency, network: offer.network })}`,
      ].join(': '),
      hint: `by ${formatTime(offer.estimated_availability)}, rating ${formatRating(offer)}`,
    })),
  );
}

async function askCurrency(
  { ask, signal }: Pick<Context, 'ask' | 'signal'>,
  client: Client,
  { country }: User,
): Promise<string> {
  const countries = await client.listCountries({}, { signal });
  const served = countries.find(({ country_code }) => country_code === country);
  const [only, ...others] = served?.currencies ?? [];
  if (only === undefined) throw new Failure(`No payer serves ${country}`, { code: 'not_served' });
  if (others.length === 0) return only;
  return ask.select(
    'Which currency should arrive?',
    [only, ...others].map((value) => ({ value, label: value })),
  );
}

function describeOrder(
  values: PayValues,
  { offer, details }: { offer: Chosen; details: string | undefined },
): ArgumentsOf<'createPayout'>['body'] {
  const { amount, receive, reference, from, at } = values;
  const terms = {
    destination_token: offer.destination_token,
    destination_currency_code: offer.currency_code,
    source_currency_code: from?.toUpperCase(),
    attr_set_token: details,
    client_transfer_id: reference,
    scheduled_for: at,
  };
  return receive === undefined
    ? { ...terms, source_amount: readAmount(amount ?? '', '--amount') }
    : { ...terms, destination_amount: readAmount(receive, '--receive') };
}

type Agreement = { quote: Payout; user: User; isAgreed: boolean };

/** @throws Failure unless a person agrees before the quote expires. */
async function confirm(
  { ask, output, profile, nowMs }: Context,
  { quote, user, isAgreed }: Agreement,
): Promise<void> {
  if (isAgreed) return;
  const { colors } = output;
  const { name, baseUrl } = profile();
  const total = formatMoney(quote.total_debit, quote.source_currency_code);
  const question = `Pay ${colors.bold(total)} to ${user.first_name} ${user.last_name} through ${baseUrl} (profile ${name})?`;
  // By its length, because a sandbox's clock may be ahead of this one.
  const lengthMs = Date.parse(withZone(quote.expiration)) - Date.parse(withZone(quote.created_at));
  const answer = await ask.confirm(printable(question), nowMs() + lengthMs);
  if (answer === 'yes') return;
  throw answer === 'expired'
    ? new Failure('The quote has expired. Nothing was paid.', {
        code: 'ex_rate_expired',
        next: 'outlay pay',
      })
    : new Failure('Nothing was paid.', {
        exitCode: exitCodes.interrupted,
        code: 'not_confirmed',
        next: `outlay payout commit ${quote.payout_token} (while the quote lasts)`,
      });
}
