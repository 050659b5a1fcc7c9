import { readFileSync } from 'node:fs';
import { ConfigError } from '../config.ts';
import { openVerifyingKeys } from '../core/verifying-keys.ts';
import { isSystemError } from '../db/embedded/error.ts';
import { openChain } from '../environment/chain.ts';
import { openErasures } from '../environment/erasures.ts';
import { openRates } from '../environment/imports.ts';
import { listTrustedKeys } from '../erasure/tombstones.ts';
import { verifyMoves } from '../exceptions/move-proof.ts';
import { verifyBookings } from '../ledger/booking-proof.ts';
import { ChainFileError, type Checkpoint } from '../ledger/chain.ts';
import { exportChains, verifyExport } from '../ledger/chain-export.ts';
import { verifyChains } from '../ledger/chain-source.ts';
import { signCheckpoints, streamCheckpoints } from '../ledger/checkpoints.ts';
import { verifyEvents } from '../ledger/event-proof.ts';
import { verifyJournals } from '../ledger/journal-proof.ts';
import { verifyLedger } from '../ledger/ledger.ts';
import { readPayoutProof, verifyPayoutProof } from '../ledger/payout-proof.ts';
import { findRevivedAccess } from '../operators/access-proof.ts';
import { defineCommand, defineHostCommand } from './command.ts';
import type { CommandContext } from './context.ts';
import { newFile, writeNewFile } from './new-file.ts';
import { environmentName, file, flag } from './options.ts';

const checkpoints = file.meta({ value: 'path', about: 'checkpoints that were kept elsewhere' });
const key = file.meta({ value: 'path', about: 'public keys of the environment (key set, or PEM)' });

export const ledgerCommands = [
  defineHostCommand({
    name: 'ledger verify',
    about:
      'recompute every balance, and check the chains of journals and events against the signed checkpoints; exit code 1 if anything is wrong',
    options: {
      export: file
        .meta({ value: 'path', about: 'verify an export instead; needs no database' })
        .optional(),
      key: key.optional(),
      checkpoints: checkpoints.optional(),
      environment: environmentName.optional(),
    },
    check: ({ export: path, key: pem }) =>
      (path === undefined) === (pem === undefined) ? undefined : '--export and --key go together',
    run: async (host, { export: path, key: pem, checkpoints: kept, environment }) => {
      const outside = kept === undefined ? [] : readKept(kept);
      if (path !== undefined && pem !== undefined) {
        const chain = await verifyExport(path, {
          keys: readFileSync(pem, 'utf8'),
          outside,
        });
        if (chain.findings.length > 0) process.exitCode = 1;
        return { isSound: chain.findings.length === 0, chain };
      }
      await using context = await host.openContext(environment, { isReading: true });
      return await verifyLive(context, outside);
    },
  }),
  defineCommand({
    name: 'ledger export',
    permission: 'read',
    about:
      'write checkpoints, links, journals and events to a new file, for `ledger verify --export`',
    options: { file: newFile },
    argument: 'file',
    run: ({ db }, { file: path }) => writeNewFile(() => exportChains(db, path)),
  }),
  defineCommand({
    name: 'ledger checkpoint',
    permission: 'operate',
    about: 'sign the heads of the chains now',
    options: {},
    run: async (context) => {
      const chain = openChain(context);
      await signCheckpoints(chain);
      return { checkpoints: chain.file };
    },
  }),
  defineHostCommand({
    name: 'proof verify',
    about: 'verify the proof of a payout (GET .../proof); needs no network',
    options: { file, key },
    argument: 'file',
    run: (_host, { file: path, key: pem }) => verifyProof(path, pem),
  }),
  defineCommand({
    name: 'rates import',
    permission: 'operate',
    about: 'import the configured exchange rates now',
    options: { acceptJumps: flag('accept rates that differ much from the previous ones') },
    run: async (context, options) => {
      const rates = await openRates(context);
      const report = await rates.importAll(options);
      if (report.sources.length === 0) {
        throw new ConfigError(
          'no source of rates is configured: set OUTLAY_RATES_ECB, OUTLAY_RATES_CRYPTO or OUTLAY_RATES_TABLE',
        );
      }
      if (!report.ok) process.exitCode = 1;
      return report;
    },
  }),
];

const readKept = (path: string): Checkpoint[] => [...streamKept(path)];

/** @throws ConfigError for a damaged line. */
function* streamKept(path: string): Generator<Checkpoint> {
  try {
    yield* streamCheckpoints(path);
  } catch (cause) {
    if (cause instanceof ChainFileError) throw new ConfigError(cause.message, { cause });
    if (!isSystemError(cause, 'EACCES', 'EPERM', 'EISDIR')) throw cause;
    throw new ConfigError(`${path} must be a file of checkpoints that can be read`, { cause });
  }
}

async function verifyLive(context: CommandContext, outside: readonly Checkpoint[]) {
  const proof = await verifyLedger(context.db);
  const chain = await verifyChains(context.db, {
    // Of a database that was restored from before a rotation, the list of erasures knows later keys.
    keys: [
      ...openVerifyingKeys(context.keys.signingKeys),
      ...listTrustedKeys(openErasures(context).tombstones),
    ],
    outside,
    readFile: () => streamKept(openChain(context).file),
    vouching: context.keys,
  });
  const { db, keys } = context;
  const isStaging = context.name === 'staging';
  const found = {
    wrongJournals: await verifyJournals(db),
    wrongMoves: await verifyMoves(db, { keys, isSandbox: isStaging }),
    wrongBookings: await verifyBookings(db, { keys, isFundingFree: isStaging }),
    wrongEvents: await verifyEvents(db),
    revivedAccess: await findRevivedAccess(db),
  };
  const isSound =
    proof.isSound &&
    [chain.findings, ...Object.values(found)].every((findings) => findings.length === 0);
  if (!isSound) process.exitCode = 1;
  return { ...proof, isSound, ...found, chain };
}

function verifyProof(path: string, pemPath: string) {
  try {
    const proof = readPayoutProof(readFileSync(path, 'utf8'));
    return { result: 'proved', ...verifyPayoutProof(proof, readFileSync(pemPath, 'utf8')) };
  } catch (error) {
    throw new ConfigError(`not proved: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}
