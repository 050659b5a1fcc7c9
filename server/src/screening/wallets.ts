import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import { bech32, createBase58check } from '@scure/base';
import { attempt } from '../core/attempt.ts';

/**
 * Wallet addresses in a canonical form. The currency is not part of it: an address on an EVM chain is
 * the same key on all EVM chains and for every token.
 */

const base58check = createBase58check(sha256);

/** Versions of 21-byte addresses on Bitcoin and Litecoin that hold the hash of a key. */
const keyVersions = new Set([0x00, 0x30]);
/** Those with the hash of a script. Litecoin writes one script as `3...` (0x05) and as `M...` (0x32). */
const scriptVersions = new Set([0x05, 0x32]);

/**
 * The bank of a BIC beside wallets: its first eight characters, because branches share what their bank
 * is listed for. No wallet has a colon and capital letters.
 */
export function bankKey(bic: string): string {
  return `bic:${bic.slice(0, 8).toUpperCase()}`;
}

export function normalizeWallet(address: string): string {
  const text = address.trim();
  if (/^0x[0-9a-f]{40}$/i.test(text)) return text.toLowerCase();
  return normalizeWitness(text) ?? normalizeBase58(text) ?? text;
}

/** A version 0 address of 20 bytes is the same key as in the older form (BIP 141, BIP 173). */
function normalizeWitness(text: string): string | undefined {
  if (!/^(?:bc|ltc)1[02-9ac-hj-np-z]+$/i.test(text)) return undefined;
  const decoded = bech32.decodeUnsafe(text, 90);
  const [version, ...words] = decoded?.words ?? [];
  const hash = bech32.fromWordsUnsafe(words);
  if (version !== 0 || !(hash instanceof Uint8Array) || hash.length !== 20) {
    return text.toLowerCase();
  }
  return `key:${bytesToHex(hash)}`;
}

function normalizeBase58(text: string): string | undefined {
  const bytes = attempt(() => base58check.decode(text));
  if (bytes?.length !== 21) return undefined;
  const hash = bytesToHex(bytes.subarray(1));
  const version = bytes[0] ?? -1;
  if (keyVersions.has(version)) return `key:${hash}`;
  return scriptVersions.has(version) ? `script:${hash}` : undefined;
}
