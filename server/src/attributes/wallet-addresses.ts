import { ed25519 } from '@noble/curves/ed25519.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import { bech32, bech32m, createBase58check, base58 as plainBase58 } from '@scure/base';
import { attempt } from '../core/attempt.ts';
import { describeNetwork, findAddressFormat } from '../core/networks.ts';
import { account, type Check, type Field, type Problem } from './field.ts';

/**
 * Wallet addresses of the main networks. A transfer to a wrong address is lost, so all checksums
 * are verified, and addresses of test networks are refused.
 */

const base58check = createBase58check(sha256);
const base58 = '[1-9A-HJ-NP-Za-km-z]';
const bech32Lower = '[02-9ac-hj-np-z]';
const bech32Upper = '[02-9AC-HJ-NP-Z]';

const wrongChecksum: Problem = {
  code: 'checksum',
  detail: 'The checksum of the address is wrong; a character may be mistyped',
};

type Chain = { readonly prefix: string; readonly versions: readonly number[] };
const bitcoin: Chain = { prefix: 'bc', versions: [0x00, 0x05] };
/**
 * Of Litecoin's two versions of script addresses only 0x32 (M) is accepted. The older 0x05 (3) is
 * also Bitcoin's: the chain of such an address is ambiguous, and a wrong guess loses the money.
 */
const litecoin: Chain = { prefix: 'ltc', versions: [0x30, 0x32] };

function decodeBase58(address: string): Uint8Array | undefined {
  return attempt(() => base58check.decode(address));
}

function isLegacyAddress(chain: Chain, address: string): boolean {
  const bytes = decodeBase58(address);
  return bytes?.length === 21 && chain.versions.includes(bytes[0] ?? -1);
}

/**
 * A witness address: version 0 is bech32 with 20 or 32 bytes (BIP 173), version 1 is bech32m with
 * 32 (BIP 350, BIP 341). Later versions are refused: they have no rules yet, so that anyone can
 * spend what is sent there.
 */
function isWitnessAddress(chain: Chain, address: string): boolean {
  const isFirst = address.toLowerCase().startsWith(`${chain.prefix}1q`);
  const encoding = isFirst ? bech32 : bech32m;
  const decoded = encoding.decodeUnsafe(address, 90);
  if (decoded === undefined || decoded.prefix !== chain.prefix) return false;
  const [version, ...groups] = decoded.words;
  const length = encoding.fromWordsUnsafe(groups)?.length;
  if (isFirst) return version === 0 && (length === 20 || length === 32);
  return version === 1 && length === 32;
}

function checkChain(chain: Chain): Check {
  return (value) => {
    const isWitness = value.toLowerCase().startsWith(`${chain.prefix}1`);
    const isValid = isWitness ? isWitnessAddress(chain, value) : isLegacyAddress(chain, value);
    return isValid ? undefined : wrongChecksum;
  };
}

/** ERC-55: the case of each letter is a bit of the Keccak-256 hash of the lower-case address. */
export function formatEthereumAddress(lowerCaseHex: string): string {
  const hash = bytesToHex(keccak_256(utf8ToBytes(lowerCaseHex)));
  const letters = Array.from(lowerCaseHex).map((letter, index) =>
    Number.parseInt(hash[index] ?? '0', 16) >= 8 ? letter.toUpperCase() : letter,
  );
  return `0x${letters.join('')}`;
}

/** An address in mixed case has a checksum; one in a single case has none. */
const checkEthereumAddress: Check = (value) => {
  const letters = value.slice(2);
  if (/^0{40}$/.test(letters)) {
    return {
      code: 'burn_address',
      detail: 'The address must not be the zero address, whose key does not exist',
    };
  }
  if (letters === letters.toLowerCase() || letters === letters.toUpperCase()) return undefined;
  return formatEthereumAddress(letters.toLowerCase()) === value ? undefined : wrongChecksum;
};

/** Witness addresses may be in capitals (as in QR codes); lower case is canonical. */
function normalizeWitness(value: string): string {
  return /^(?:BC|LTC)1/.test(value) ? value.toLowerCase() : value;
}

/** Version 0 with a key hash or a script hash, version 1; the checksum is 6 characters. */
function describeWitness(prefix: string): string {
  const lower = `${prefix}1(?:q${bech32Lower}{38}|[qp]${bech32Lower}{58})`;
  const upper = `${prefix.toUpperCase()}1(?:Q${bech32Upper}{38}|[QP]${bech32Upper}{58})`;
  return `${lower}|${upper}`;
}

const bitcoinAddress: Field = account({
  label: 'Wallet address (Bitcoin)',
  pattern: `[13]${base58}{25,33}|${describeWitness('bc')}`,
  hint: 'A Bitcoin address of the main network, beginning with 1, 3, bc1q or bc1p',
  check: checkChain(bitcoin),
  normalize: normalizeWitness,
});

const litecoinAddress: Field = account({
  label: 'Wallet address (Litecoin)',
  pattern: `[LM]${base58}{25,33}|${describeWitness('ltc')}`,
  hint: 'A Litecoin address of the main network, beginning with L, M, ltc1q or ltc1p',
  check: checkChain(litecoin),
  normalize: normalizeWitness,
});

/**
 * The same address exists on every EVM chain, so the hint names the chain: the owner may have no access
 * to it on another one.
 */
function evmAddress(label: string): Field {
  const article = /^[AEIOU]/.test(label) ? 'An' : 'A';
  const hint = label === 'Ethereum' ? 'An Ethereum address' : `${article} ${label} address`;
  return account({
    label: `Wallet address (${label})`,
    pattern: '0x[0-9A-Fa-f]{40}',
    hint: `${hint}: 0x and 40 hexadecimal digits`,
    check: checkEthereumAddress,
    normalize: (value) => formatEthereumAddress(value.slice(2).toLowerCase()),
  });
}

const solanaKeyBytes = 32;

/** Accounts of programs that everyone uses: what is sent there is lost. */
const solanaPrograms: ReadonlySet<string> = new Set([
  '11111111111111111111111111111111',
  'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
  'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb',
  'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL',
]);

/**
 * An address of Solana has no checksum. A wallet is a point on the curve, because it is a public key;
 * token accounts and programs usually are not, and money for a token account's address would go to a
 * token account without an owner. So addresses off the curve are refused, and about half of all
 * mistyped addresses with them.
 */
const checkSolanaAddress: Check = (value) => {
  const bytes = decodePlainBase58(value);
  if (bytes?.length !== solanaKeyBytes) {
    return { code: 'pattern_mismatch', detail: 'The address must be 32 bytes in base58' };
  }
  if (solanaPrograms.has(value)) {
    return { code: 'burn_address', detail: 'The address must be a wallet, not a program' };
  }
  return isOnCurve(bytes)
    ? undefined
    : {
        code: 'pattern_mismatch',
        detail:
          'The address must be that of a wallet; a token account cannot be paid by its address',
      };
};

function decodePlainBase58(text: string): Uint8Array | undefined {
  return attempt(() => plainBase58.decode(text));
}

function isOnCurve(bytes: Uint8Array): boolean {
  try {
    ed25519.Point.fromBytes(bytes);
    return true;
  } catch (cause) {
    if (cause instanceof Error) return false;
    throw cause;
  }
}

function solanaAddress(label: string): Field {
  return account({
    label: `Wallet address (${label})`,
    pattern: `${base58}{32,44}`,
    hint: `A ${label} wallet address: 32 to 44 letters and digits`,
    check: checkSolanaAddress,
  });
}

const fields = new Map<string, Field>([
  ['bitcoin', bitcoinAddress],
  ['litecoin', litecoinAddress],
]);

/** The field of the addresses of a network; undefined where their form is not known. */
export function findWalletField(network: string): Field | undefined {
  const format = findAddressFormat(network);
  if (format === undefined) return undefined;
  const isPlain = format === 'bitcoin' || format === 'litecoin';
  const name = isPlain ? format : network;
  const known = fields.get(name);
  if (known !== undefined) return known;
  const label = describeNetwork(network);
  const field = format === 'solana' ? solanaAddress(label) : evmAddress(label);
  fields.set(name, field);
  return field;
}
