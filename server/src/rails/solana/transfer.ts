import {
  type Address,
  appendTransactionMessageInstructions,
  type Base64EncodedWireTransaction,
  type Blockhash,
  compileTransaction,
  createTransactionMessage,
  decompileTransactionMessage,
  getAddressEncoder,
  getBase64EncodedWireTransaction,
  getCompiledTransactionMessageDecoder,
  getSignatureFromTransaction,
  getTransactionDecoder,
  type Instruction,
  isAddress,
  isOffCurveAddress,
  type KeyPairSigner,
  pipe,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
} from '@solana/kit';
import {
  findAssociatedTokenPda,
  getCreateAssociatedTokenIdempotentInstruction,
  getTransferCheckedInstruction,
  TOKEN_PROGRAM_ADDRESS,
} from '@solana-program/token';
import { assert } from '../../core/errors.ts';

/** Composes, signs and reads back the transaction of one payment. */

export type Transfer = {
  readonly reference: string;
  readonly recipient: Address;
  readonly mint: Address;
  readonly units: bigint;
  readonly decimals: number;
  /** Whether the recipient's account for the token must be created. */
  readonly createsAccount: boolean;
};

export type Lifetime = { readonly blockhash: string; readonly lastValidBlockHeight: number };

/** Limits of one transaction: what it does needs about 40,000 units of computing. */
const computeUnits = 120_000;
/** Lamports for the one signature. */
const signatureFee = 5000;
const microLamports = 1_000_000;

const computeBudgetProgram = 'ComputeBudget111111111111111111111111111111' as Address;
const memoProgram = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr' as Address;

/** Base fee and priority fee, lamports. */
export function getNetworkFee(priorityMicroLamports: number): number {
  return signatureFee + Math.ceil((computeUnits * priorityMicroLamports) / microLamports);
}

/** The account in which `owner` holds the token. */
export async function findTokenAccount(owner: Address, mint: Address): Promise<Address> {
  const seeds = { owner, mint, tokenProgram: TOKEN_PROGRAM_ADDRESS };
  const [address] = await findAssociatedTokenPda(seeds);
  return address;
}

/** A public key, which can sign for the received funds; token accounts and programs cannot. */
export function isWallet(text: string): text is Address {
  return isAddress(text) && !isOffCurveAddress(text);
}

type Terms = { readonly payer: KeyPairSigner; readonly priorityMicroLamports: number };

async function listInstructions(
  { payer, priorityMicroLamports }: Terms,
  transfer: Transfer,
): Promise<Instruction[]> {
  const { recipient, mint, units, decimals, reference, createsAccount } = transfer;
  const source = await findTokenAccount(payer.address, mint);
  const destination = await findTokenAccount(recipient, mint);
  const limit = Buffer.alloc(5);
  limit.writeUInt8(2);
  limit.writeUInt32LE(computeUnits, 1);
  const price = Buffer.alloc(9);
  price.writeUInt8(3);
  price.writeBigUInt64LE(BigInt(priorityMicroLamports), 1);
  const create = getCreateAssociatedTokenIdempotentInstruction({
    payer,
    ata: destination,
    owner: recipient,
    mint,
  });
  return [
    { programAddress: computeBudgetProgram, data: new Uint8Array(limit) },
    { programAddress: computeBudgetProgram, data: new Uint8Array(price) },
    // Names the payment on the chain, so that it is recognized after a restore.
    { programAddress: memoProgram, data: new TextEncoder().encode(reference) },
    ...(createsAccount ? [create] : []),
    getTransferCheckedInstruction({
      source,
      mint,
      destination,
      authority: payer,
      amount: units,
      decimals,
    }),
  ];
}

async function makeMessage(terms: Terms, transfer: Transfer, lifetime: Lifetime) {
  const instructions = await listInstructions(terms, transfer);
  return pipe(
    createTransactionMessage({ version: 0 }),
    (message) => setTransactionMessageFeePayerSigner(terms.payer, message),
    (message) =>
      setTransactionMessageLifetimeUsingBlockhash(
        {
          blockhash: lifetime.blockhash as Blockhash,
          lastValidBlockHeight: BigInt(lifetime.lastValidBlockHeight),
        },
        message,
      ),
    (message) => appendTransactionMessageInstructions(instructions, message),
  );
}

/** Without a signature: a node that tries the transfer cannot send it. */
export async function makeTrial(
  terms: Terms,
  transfer: Transfer,
  lifetime: Lifetime,
): Promise<Base64EncodedWireTransaction> {
  return getBase64EncodedWireTransaction(
    compileTransaction(await makeMessage(terms, transfer, lifetime)),
  );
}

export async function signTransfer(
  terms: Terms,
  transfer: Transfer,
  lifetime: Lifetime,
): Promise<{ readonly signature: string; readonly wire: string }> {
  const signed = await signTransactionMessageWithSigners(
    await makeMessage(terms, transfer, lifetime),
  );
  const wire = getBase64EncodedWireTransaction(signed);
  const destination = await findTokenAccount(transfer.recipient, transfer.mint);
  assert(
    isTransferOf(wire, { ...transfer, payer: terms.payer.address, destination }),
    'the signed bytes are the payment',
  );
  return { signature: getSignatureFromTransaction(signed), wire };
}

const transferCheckedCode = 12;
const transferCheckedBytes = 10;

/**
 * The one transfer in the bytes of a transaction, and its reference; undefined where they hold anything
 * else. Read by hand, so that a fault of the library that wrote them shows.
 */
export function readTransfer(wire: string) {
  const { messageBytes } = getTransactionDecoder().decode(Buffer.from(wire, 'base64'));
  const compiled = getCompiledTransactionMessageDecoder().decode(messageBytes);
  if ('addressTableLookups' in compiled && (compiled.addressTableLookups?.length ?? 0) > 0) {
    return undefined;
  }
  const { instructions, feePayer } = decompileTransactionMessage(compiled);
  const [only, ...others] = instructions.filter(
    ({ programAddress }) => programAddress === TOKEN_PROGRAM_ADDRESS,
  );
  const memo = instructions.find(({ programAddress }) => programAddress === memoProgram);
  const data = Buffer.from(only?.data ?? []);
  const [, mint, destination, authority] = (only?.accounts ?? []).map(({ address }) => address);
  if (others.length > 0 || data.length !== transferCheckedBytes) return undefined;
  if (data.readUInt8(0) !== transferCheckedCode) return undefined;
  return {
    units: data.readBigUInt64LE(1),
    decimals: data.readUInt8(9),
    mint,
    destination,
    authority,
    feePayer: feePayer.address,
    reference: Buffer.from(memo?.data ?? []).toString(),
  };
}

type Expected = Pick<Transfer, 'units' | 'mint' | 'decimals' | 'reference'> & {
  readonly payer: Address;
  readonly destination: Address;
};

/** The first account of a transaction, without whose signature no block takes it. */
export function readFeePayer(wire: string): Address | undefined {
  const { messageBytes } = getTransactionDecoder().decode(Buffer.from(wire, 'base64'));
  return getCompiledTransactionMessageDecoder().decode(messageBytes).staticAccounts[0];
}

/** Whether the bytes move exactly this to exactly there, under this reference. */
export function isTransferOf(wire: string, expected: Expected): boolean {
  const found = readTransfer(wire);
  return (
    found !== undefined &&
    found.units === expected.units &&
    found.decimals === expected.decimals &&
    found.mint === expected.mint &&
    found.destination === expected.destination &&
    found.authority === expected.payer &&
    found.feePayer === expected.payer &&
    found.reference === expected.reference
  );
}

/** Of a token account (SPL Token): mint, owner, amount and state at their fixed places. */
export function readTokenAccount(base64: string) {
  const data = Buffer.from(base64, 'base64');
  if (data.length !== tokenAccountBytes) return undefined;
  return {
    mint: data.subarray(0, 32),
    owner: data.subarray(32, 64),
    units: data.readBigUInt64LE(64),
    isFrozen: data.readUInt8(108) === 2,
  };
}

export const tokenAccountBytes = 165;
const mintBytes = 82;

/** The decimals of a mint; undefined where the data is none of the SPL Token program. */
export function readMintDecimals(base64: string): number | undefined {
  const data = Buffer.from(base64, 'base64');
  return data.length === mintBytes && data.readUInt8(45) === 1 ? data.readUInt8(44) : undefined;
}

export function isSameKey(bytes: Uint8Array, address: Address): boolean {
  return Buffer.from(bytes).equals(Buffer.from(getAddressEncoder().encode(address)));
}
