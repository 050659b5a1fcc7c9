import { createKeyPairSignerFromBytes, getBase58Encoder, type KeyPairSigner } from '@solana/kit';
import { z } from 'zod';
import { parseJson } from '../kit/answers.ts';

const keyBytes = 64;
const arraySchema = z.array(z.int().min(0).max(255)).length(keyBytes);

/** Private and public key; undefined where the text is neither form. */
export function readSecretKey(text: string): Uint8Array | undefined {
  const trimmed = text.trim();
  if (trimmed.startsWith('[')) {
    const parsed = arraySchema.safeParse(parseJson(trimmed));
    return parsed.success ? Uint8Array.from(parsed.data) : undefined;
  }
  if (!/^[1-9A-HJ-NP-Za-km-z]{64,90}$/.test(trimmed)) return undefined;
  const bytes = getBase58Encoder().encode(trimmed);
  return bytes.length === keyBytes ? Uint8Array.from(bytes) : undefined;
}

/** @throws Error where public and private key do not belong together. */
export async function openKey(text: string): Promise<KeyPairSigner> {
  const bytes = readSecretKey(text);
  if (bytes === undefined) throw new Error('key.secretKey must be a secret key of 64 bytes');
  try {
    return await createKeyPairSignerFromBytes(bytes);
  } catch {
    // Without the cause, which may show parts of the key.
    throw new Error('key.secretKey must hold a private key and its public key');
  }
}
