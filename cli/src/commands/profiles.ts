import { type Credential, PermissionError } from '../../../sdk/src/index.ts';
import { type Context, connectTo, defineCommand } from '../command.ts';
import { UsageError } from '../failure.ts';
import { findStagingFile, localName, readProfiles, saveProfiles } from '../profiles.ts';
import { formatTable } from '../table.ts';

export const profileCommands = [
  defineCommand({
    name: 'login',
    about: 'store an address and a credential under a name, and use them from now on',
    options: {
      name: { value: 'name', about: 'of the profile (default)' },
      url: { value: 'address', about: 'of the service, such as https://payouts.example.com' },
      clientId: { value: 'id', about: 'for a client id with a secret, instead of an API key' },
    },
    examples: [
      'login',
      'login --name work --url https://payouts.example.com < key.txt',
      'login --name work --url https://payouts.example.com --client-id <id> < secret.txt',
    ],
    next: 'balances',
    run: login,
  }),
  defineCommand({
    name: 'logout',
    about: 'remove a profile with its credential from this computer',
    words: ['name'],
    examples: ['logout work'],
    next: 'profile list',
    run: ({ terminal: { environment }, output }, { name }) => {
      const stored = readProfiles(environment);
      const { [name]: removed, ...profiles } = stored.profiles;
      if (removed === undefined)
        throw new UsageError(`There is no profile ${name}`, 'outlay profile list');
      const usual = stored.default === name ? undefined : stored.default;
      saveProfiles(environment, { default: usual, profiles });
      output.result({ name, base_url: removed.base_url }, () => `Removed ${name}`);
    },
  }),
  defineCommand({
    name: 'profile list',
    about: 'list the profiles, and which one is used',
    examples: ['profile list'],
    next: 'profile use <name>',
    run: ({ terminal: { environment }, output }) => {
      const stored = readProfiles(environment);
      const local = findStagingFile(environment);
      const usual = stored.default ?? localName;
      const rows = [
        ...Object.entries(stored.profiles).map(([name, { base_url, api_key }]) => ({
          name,
          base_url,
          credential: api_key === undefined ? 'client' : 'api key',
          is_default: name === usual,
        })),
        ...(local === undefined || stored.profiles[localName] !== undefined
          ? []
          : [
              {
                name: localName,
                base_url: local,
                credential: 'demo account',
                is_default: usual === localName,
              },
            ]),
      ];
      output.result(rows, () =>
        formatTable(output, rows, {
          columns: [
            { title: 'used', read: ({ is_default }) => (is_default ? '*' : '') },
            { title: 'name', read: ({ name }) => name },
            { title: 'address', read: ({ base_url }) => base_url },
            { title: 'credential', read: ({ credential }) => credential },
          ],
          empty: 'No profile, and no local service: outlay login',
        }),
      );
    },
  }),
  defineCommand({
    name: 'profile use',
    about: 'use a profile from now on; `local` is the service that runs in this folder',
    words: ['name'],
    examples: ['profile use work', 'profile use local'],
    next: 'balances',
    run: ({ terminal: { environment }, output }, { name }) => {
      const { profiles } = readProfiles(environment);
      if (name !== localName && profiles[name] === undefined) {
        throw new UsageError(`There is no profile ${name}`, 'outlay profile list');
      }
      saveProfiles(environment, { default: name, profiles });
      output.result({ name }, () => `${name} is used from now on`);
    },
  }),
];

type Given = {
  readonly name: string | undefined;
  readonly url: string | undefined;
  readonly clientId: string | undefined;
};

async function login(context: Context, { name = 'default', url, clientId }: Given): Promise<void> {
  const { output, ask, terminal, signal } = context;
  const { environment } = terminal;
  const isAsking = output.isInteractive;
  if (url === undefined && !isAsking)
    throw new UsageError('--url must be given', 'outlay login --help');
  const baseUrl =
    url ??
    (await ask.text({ message: 'Address of the service', example: 'https://payouts.example.com' }));
  const kind = clientId === undefined ? 'API key' : 'Client secret';
  // Never an option: other users of the machine see those.
  const secret = isAsking ? await ask.secret(kind) : await readLine(terminal.input);
  if (secret === '') throw new UsageError(`The ${kind} must be on the standard input`);
  const credential: Credential =
    clientId === undefined ? { apiKey: secret } : { clientId, clientSecret: secret };
  try {
    await connectTo({ baseUrl, credential }).listBalances({}, { signal });
  } catch (error) {
    // It is valid, and may do other things.
    if (!(error instanceof PermissionError)) throw error;
  }
  const stored = readProfiles(environment);
  const profile =
    clientId === undefined ? { api_key: secret } : { client_id: clientId, client_secret: secret };
  const path = saveProfiles(environment, {
    default: name,
    profiles: { ...stored.profiles, [name]: { base_url: baseUrl, ...profile } },
  });
  output.result({ name, base_url: baseUrl, file: path }, () => `Stored ${name} in ${path}`);
  output.next('outlay balances');
}

async function readLine(input: AsyncIterable<Buffer | string>): Promise<string> {
  let text = '';
  for await (const part of input) text += part.toString();
  return text.split('\n', 1)[0]?.trim() ?? '';
}
