import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { ConfigError } from '../config.ts';
import { formatKeySet } from '../core/verifying-keys.ts';
import { ProofFault, type Verified, verifyCode, verifyReceipt } from '../receipts/proof.ts';
import { defineCommand, defineHostCommand, Screen } from './command.ts';
import { file, flag, option } from './options.ts';

const fileBytesMax = 20_000_000;

export const receiptCommands = [
  defineHostCommand({
    name: 'receipt verify',
    about: "verify a receipt's PDF, or the text of its QR code; needs no network",
    options: {
      file: file.optional(),
      code: option(
        { value: 'text', about: 'content of its QR code, instead of the file' },
        z.string().max(5000, 'must be the text of a QR code'),
      ).optional(),
      key: file.meta({ value: 'path', about: 'public keys of the environment (key set, or PEM)' }),
    },
    argument: 'file',
    check: ({ file: path, code }) =>
      (path === undefined) === (code === undefined) ? 'give a file or --code' : undefined,
    run: (_host, { file: path, code, key }) => {
      const pem = readFileSync(key, 'utf8');
      return report(() =>
        code === undefined ? verifyFile(path ?? '', pem) : verifyCode(code, pem),
      );
    },
  }),
  defineCommand({
    name: 'receipt key',
    permission: 'read',
    about: 'print the public key with which the receipts of the environment verify',
    options: { all: flag('the present and the former keys, as a key set') },
    run: ({ keys }, { all }) => {
      const pem = keys.signing.publicPem.trim();
      return all ? formatKeySet(keys.signingKeys) : new Screen({ public_key: pem }, () => pem);
    },
  }),
];

function verifyFile(path: string, pem: string): Verified {
  const bytes = readFileSync(path);
  if (bytes.length > fileBytesMax) throw new ProofFault('the file is too large for a receipt');
  return verifyReceipt(bytes, pem);
}

/** What does not verify ends the command with an error. */
function report(verified: () => Verified) {
  try {
    return { result: 'genuine', ...verified() };
  } catch (error) {
    if (!(error instanceof ProofFault)) throw error;
    throw new ConfigError(`not verified: ${error.message}`, { cause: error });
  }
}
