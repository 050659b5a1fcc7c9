import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import { ConfigError } from '../config.ts';
import {
  authenticateOperator,
  countOperators,
  createFirstOwner,
  findRevokedOperator,
  type Operator,
} from '../operators/operators.ts';
import type { CommandContext } from './context.ts';

/** Whose key a command runs with: that of `OUTLAY_OPERATOR_KEY`, or of a file in the data folder. */

type Keyed = Pick<CommandContext, 'config' | 'name' | 'db' | 'keys'>;

/** The name of the owner whom staging creates by itself. */
export const firstOwnerName = 'owner';

function placeKey({ config, name }: Pick<Keyed, 'config' | 'name'>): string {
  return join(config.OUTLAY_DATA, `${name}.operator`);
}

function readKey(context: Keyed): string | undefined {
  const { OUTLAY_OPERATOR_KEY: given } = context.config;
  if (given !== undefined) return given;
  try {
    return readFileSync(placeKey(context), 'utf8').trim();
  } catch {
    return undefined;
  }
}

/** The key is that of an operator who was revoked. */
export class RevokedKey extends ConfigError {
  readonly operator: Operator;

  constructor(operator: Operator, text: string) {
    super(text);
    this.operator = operator;
  }
}

/**
 * The operator of a command. Staging without operators creates an owner, whose key lies in the data
 * folder, so that a first trial needs none.
 *
 * @returns undefined where the environment has no operators at all.
 * @throws ConfigError without a valid key; RevokedKey with one that ended with its operator.
 */
export async function identifyOperator(context: Keyed): Promise<Operator | undefined> {
  const { db, keys, name, config } = context;
  const key = readKey(context);
  const services = { session: db.system, keys };
  const known = key === undefined ? undefined : await authenticateOperator(services, key);
  if (known !== undefined) return known;
  if ((await countOperators(db.system)) === 0) {
    if (name === 'live') return undefined;
    return (await createStagingOwner(context)) ?? identifyOperator(context);
  }
  const place =
    config.OUTLAY_OPERATOR_KEY === undefined ? placeKey(context) : 'OUTLAY_OPERATOR_KEY';
  if (key === undefined) {
    throw new ConfigError(
      `commands on ${name} need the key of an operator: set OUTLAY_OPERATOR_KEY`,
    );
  }
  const text = `the key in ${place} is not, or no longer, that of an operator of ${name}`;
  const revoked = await findRevokedOperator(db.system, key);
  throw revoked === undefined ? new ConfigError(text) : new RevokedKey(revoked, text);
}

/**
 * Creates the owner of a staging that has no operators, with a key in the data folder; undefined where
 * there are operators, perhaps since another process created one at this moment.
 */
export async function createStagingOwner(context: Keyed): Promise<Operator | undefined> {
  const created = await context.db.systemTransaction((session) =>
    createFirstOwner({ session, keys: context.keys }, firstOwnerName, (text) =>
      keepKey(context, text),
    ),
  );
  return created && { id: created.operator, name: created.name, role: created.role };
}

function keepKey(context: Keyed, key: string): void {
  const file = placeKey(context);
  try {
    mkdirSync(context.config.OUTLAY_DATA, { recursive: true, mode: 0o700 });
    // One of an earlier database may be there, with any mode.
    rmSync(file, { force: true });
    writeFileSync(file, `${key}\n`, { mode: 0o600, flag: 'wx' });
  } catch (cause) {
    throw new ConfigError(
      `the key of the first operator cannot be written to ${file}; create one by: ` +
        'outlay admin operator create --name NAME --role owner',
      { cause },
    );
  }
}

/** In a container the user is a number without an entry in /etc/passwd. */
function nameUser(): string {
  try {
    return userInfo().username;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_SYSTEM_ERROR')) {
      throw error;
    }
    return `uid ${process.getuid?.()}`;
  }
}

/** Where a command comes from: user and host, and the address of the SSH connection, if any. */
export function describeOrigin(variables: Readonly<Record<string, string | undefined>>): string {
  const [client] = (variables['SSH_CONNECTION'] ?? '').split(' ');
  const local = `${nameUser()}@${hostname()}`;
  return client === undefined || client === '' ? local : `${local} from ${client}`;
}
