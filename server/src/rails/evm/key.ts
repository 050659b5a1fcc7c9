import { Keystore } from 'ox';
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import { z } from 'zod';
import { parseJson } from '../kit/answers.ts';
import type { EvmConfig } from './config.ts';

const hex = z
  .string()
  .regex(/^[0-9a-fA-F]+$/)
  .max(1000);

/** Web3 Secret Storage, version 3: https://ethereum.org/developers/docs/data-structures-and-encoding/web3-secret-storage */
const keystoreSchema = z.object({
  version: z.literal(3),
  id: z.string().max(100).default(''),
  crypto: z.object({
    cipher: z.literal('aes-128-ctr'),
    ciphertext: hex,
    cipherparams: z.object({ iv: hex }),
    mac: hex,
    kdf: z.enum(['scrypt', 'pbkdf2']),
    kdfparams: z.object({
      dklen: z.literal(32),
      salt: hex,
      n: z
        .int()
        .min(2)
        .max(2 ** 20)
        .optional(),
      r: z.int().min(1).max(32).optional(),
      p: z.int().min(1).max(32).optional(),
      c: z.int().min(1).max(10_000_000).optional(),
      prf: z.literal('hmac-sha256').optional(),
    }),
  }),
});

/**
 * The paying account.
 *
 * @throws Error with a sentence for the operator that contains no part of the key.
 */
export async function openAccount(key: EvmConfig['key']): Promise<PrivateKeyAccount> {
  const privateKey = 'privateKey' in key ? key.privateKey : await decryptKeystore(key);
  try {
    return privateKeyToAccount(privateKey);
  } catch {
    // Without a cause: the library's message may contain the key.
    throw new Error('config.key.privateKey must be a private key of the curve secp256k1');
  }
}

async function decryptKeystore(key: { keystore: string; password: string }) {
  const parsed = keystoreSchema.safeParse(parseJson(key.keystore));
  if (!parsed.success) throw new Error('config.key.keystore must be a version 3 key file');
  const keystore = parsed.data as Keystore.Keystore;
  try {
    return Keystore.decrypt(keystore, await Keystore.toKeyAsync(keystore, key));
  } catch {
    throw new Error('config.key.password does not open config.key.keystore');
  }
}
