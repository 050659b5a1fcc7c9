import type { ArgumentsOf, Client } from '../../../sdk/src/index.ts';
import { type Context, defineCommand } from '../command.ts';
import { exitCodes, Failure, UsageError } from '../failure.ts';
import { getRecipient, takeListed, type User } from '../find.ts';
import type { Output } from '../output.ts';
import { formatFields, formatTable } from '../table.ts';
import { formatCode, formatTime, readAmount, readCount, readPairs } from '../values.ts';
import { describeObstacles } from './obstacles.ts';

/** Who a recipient is; the same where `pay` creates one. */
export const personOptions = {
  firstName: { value: 'name', about: 'of the recipient' },
  lastName: { value: 'name', about: 'of the recipient' },
  email: { value: 'address', about: 'of the recipient' },
  country: { value: 'code', about: 'where the recipient lives (alpha-3, such as MEX)' },
  set: {
    value: 'field=value',
    about: 'any other field, such as mobile_number, city, date_of_birth',
    isList: true,
  },
} as const;

type Person = {
  readonly id: string | undefined;
  readonly firstName: string | undefined;
  readonly lastName: string | undefined;
  readonly email: string | undefined;
  readonly country: string | undefined;
  readonly set: readonly string[];
};

const otherFields = [
  'middle_name',
  'business_name',
  'address1',
  'address2',
  'city',
  'state_province',
  'postal_code',
  'mobile_number',
  'date_of_birth',
  'language',
  'timezone',
] as const satisfies readonly (keyof User)[];

/** @throws UsageError for a field that recipients do not have: the service would ignore it. */
export function readFields(set: readonly string[]): [string, string][] {
  const pairs = readPairs(set, '--set');
  const wrong = pairs.find(([name]) => !otherFields.some((field) => field === name));
  if (wrong === undefined) return pairs;
  const known = otherFields.join(', ');
  throw new UsageError(`--set must name a field of a recipient, such as ${known}: ${wrong[0]}`);
}

/**
 * Options that describe another person than the stored one: whoever mistypes `--to` must not pay somebody
 * else, or store a foreign account there.
 *
 * @throws Failure that names the fields which differ.
 */
export function requireSamePerson(user: User, person: Person): void {
  const given: [string, string | undefined][] = [
    ['first_name', person.firstName],
    ['last_name', person.lastName],
    ['email', person.email],
    ['country', person.country],
    ...readFields(person.set),
  ];
  const stored: Readonly<Record<string, unknown>> = user;
  const different = given
    .filter(([name, value]) => value && fold(value) !== fold(textOf(stored[name])))
    .map(([name]) => name);
  if (different.length === 0) return;
  throw new Failure(
    `The recipient ${person.id} has another ${different.join(', ')}. Nothing was paid.`,
    {
      code: 'recipient_differs',
      next: `outlay recipient show ${person.id}; leave the options out to pay that recipient`,
    },
  );
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The service tidies telephone numbers, and the case of an address says nothing. */
function fold(text: string): string {
  return text
    .normalize('NFC')
    .replaceAll(/[\s+().-]/g, '')
    .toLowerCase();
}

const questions: readonly [keyof Person, flag: string, message: string, example: string][] = [
  ['id', '--id', 'Your own identifier for the recipient', 'employee-17'],
  ['firstName', '--first-name', 'First name', 'Ana'],
  ['lastName', '--last-name', 'Last name', 'Gómez'],
  ['email', '--email', 'E-mail address', 'ana@example.org'],
  ['country', '--country', 'Country (three letters)', 'MEX'],
];

/**
 * Asks for what is missing, where there is a person to ask.
 *
 * @throws UsageError that names every missing option, where there is none.
 */
export async function createRecipient(
  { output, ask, signal }: Pick<Context, 'output' | 'ask' | 'signal'>,
  client: Client,
  person: Person,
): Promise<User> {
  const missing = questions.filter(([name]) => !person[name]);
  if (missing.length > 0 && !output.isInteractive) {
    const flags = missing.map(([, flag]) => flag).join(', ');
    throw new UsageError(`${flags} must be given`, 'outlay recipient create --help');
  }
  const asked: Partial<Record<keyof Person, string>> = {};
  for (const [name, , message, example] of missing) {
    asked[name] = await ask.text({ message, example });
  }
  const {
    id = '',
    firstName = '',
    lastName = '',
    email = '',
    country = '',
  } = { ...person, ...asked };
  const fields = {
    internal_user_id: id,
    first_name: firstName,
    last_name: lastName,
    email,
    country: country.toUpperCase(),
    ...Object.fromEntries(readFields(person.set)),
  };
  return client.createUser({ body: fields }, { signal });
}

export const recipientCommands = [
  defineCommand({
    name: 'recipient create',
    about: 'create a recipient; asks for what is not given',
    options: {
      id: { value: 'id', about: 'your own identifier, unique in the account' },
      ...personOptions,
    },
    examples: [
      'recipient create',
      "recipient create --id ana --first-name Ana --last-name 'Gómez' --email ana@example.org --country MEX",
    ],
    next: 'pay --to ana',
    run: async (context, values) => {
      const { output } = context;
      const user = await createRecipient(context, context.connect(), values);
      output.result(user, () => describeUser(output, user));
      output.next(`outlay pay --to ${user.internal_user_id}`);
    },
  }),
  defineCommand({
    name: 'recipient list',
    about: 'list recipients, newest first',
    options: {
      email: { value: 'address', about: 'with this address' },
      country: { value: 'code', about: 'of this country' },
      status: { value: 'status', about: 'ACTIVE, LOCKED or DEACTIVE' },
      limit: { value: 'count', about: 'how many (20)' },
    },
    examples: ['recipient list --country MEX', 'recipient list --limit 1000 --json'],
    next: 'recipient show <recipient>',
    run: async ({ connect, output, signal }, { email, country, status, limit = '20' }) => {
      const filter = { email, country: country?.toUpperCase(), status } as ArgumentsOf<'listUsers'>;
      const users = await takeListed(
        connect().listUsers(filter, { signal }),
        readCount(limit, '--limit'),
        output,
      );
      output.result(users, () =>
        formatTable(output, users, {
          columns: [
            { title: 'id', read: ({ internal_user_id }) => internal_user_id },
            { title: 'name', read: ({ first_name, last_name }) => `${first_name} ${last_name}` },
            { title: 'country', read: ({ country: code }) => code },
            { title: 'status', read: ({ status: state }) => formatCode(state) },
            { title: 'token', read: ({ user_token }) => user_token },
          ],
          empty: 'No recipient.',
        }),
      );
    },
  }),
  defineCommand({
    name: 'recipient show',
    about: 'show a recipient',
    words: ['recipient'],
    examples: ['recipient show ana'],
    next: 'recipient readiness ana --destination <token> --currency MXN',
    run: async ({ connect, output, signal }, { recipient }) => {
      const user = await getRecipient(connect(), recipient, signal);
      output.result(user, () => describeUser(output, user));
    },
  }),
  defineCommand({
    name: 'recipient readiness',
    about: 'check whether a recipient can be paid now, and list the obstacles; exit code 1 if not',
    words: ['recipient'],
    options: {
      destination: { value: 'token', about: 'through which destination (required)' },
      currency: { value: 'code', about: 'what the recipient gets (required)' },
      amount: { value: 'amount', about: 'how much the recipient gets' },
      from: { value: 'code', about: 'currency of the balance that pays (USD)' },
    },
    examples: ['recipient readiness ana --destination <token> --currency MXN --amount 3500'],
    next: 'pay --to ana --destination <token> --currency MXN --receive 3500',
    run: async ({ connect, output, signal }, values) => {
      const { recipient, destination, currency, amount, from } = values;
      if (!destination || !currency) {
        throw new UsageError(
          '--destination and --currency must be given',
          'outlay destinations MEX',
        );
      }
      const client = connect();
      const { user_token } = await getRecipient(client, recipient, signal);
      const readiness = await client.getReadiness(
        {
          user_token,
          destination_token: destination,
          currency,
          amount: amount === undefined ? undefined : readAmount(amount, '--amount'),
          source_currency: from,
        },
        { signal },
      );
      const { payable, obstacles } = readiness;
      output.result(readiness, () =>
        payable ? 'This recipient can be paid now.' : describeObstacles(output, obstacles),
      );
      if (!payable) {
        throw new Failure('The recipient cannot be paid yet', {
          exitCode: exitCodes.refused,
          code: 'not_payable',
          hasResult: true,
        });
      }
    },
  }),
];

function describeUser(output: Output, user: User): string {
  return formatFields(output, [
    ['id', user.internal_user_id],
    ['name', `${user.first_name} ${user.last_name}`],
    ['e-mail', user.email],
    ['country', user.country],
    ['status', formatCode(user.status)],
    ['mobile', user.mobile_number],
    [
      'address',
      [user.address1, user.city, user.state_province, user.postal_code].filter(Boolean).join(', '),
    ],
    ['created', formatTime(user.created_on)],
    ['token', user.user_token],
  ]);
}
