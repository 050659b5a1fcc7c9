import type { Address } from 'viem';
import { RpcError } from '../kit/json-rpc.ts';
import { isRevert } from './chain.ts';
import type { Pass } from './parts.ts';
import type { StoredPayment } from './payment.ts';
import { decodeNumber, makeBalanceData, readDecimalsData } from './transaction.ts';

/**
 * Spendable funds of the account as of the block of the pass: its balances less what is signed and
 * not mined up to that block.
 */
export type Funds = {
  find(contract: Address | null): Promise<bigint>;
  take(contract: Address | null, amount: bigint): void;
  /** Whether the contract's decimals are the configured ones. */
  hasDecimals(contract: Address, decimals: number): Promise<boolean>;
};

export function openFunds(pass: Pass, unmined: readonly StoredPayment[]): Funds {
  const balances = new Map<Address | null, Promise<bigint>>();
  const taken = new Map<Address | null, bigint>();
  const decimals = new Map<Address, Promise<bigint | undefined>>();
  const take = (contract: Address | null, amount: bigint): void => {
    const key = nameKey(contract);
    taken.set(key, (taken.get(key) ?? 0n) + amount);
  };
  for (const { value: payment } of unmined) {
    take(payment.contract, payment.units);
    const gasCosts = payment.attempts.map((one) => one.gas * one.maxFeePerGas);
    take(
      null,
      gasCosts.reduce((most, cost) => (cost > most ? cost : most), 0n),
    );
  }
  return {
    find: async (contract) => {
      const key = nameKey(contract);
      const balance = balances.get(key) ?? readBalance(pass, contract);
      balances.set(key, balance);
      return (await balance) - (taken.get(key) ?? 0n);
    },
    take,
    hasDecimals: async (contract, expected) => {
      const actual = decimals.get(contract) ?? findDecimals(pass, contract);
      decimals.set(contract, actual);
      return (await actual) === BigInt(expected);
    },
  };
}

function nameKey(contract: Address | null): Address | null {
  return contract === null ? null : (contract.toLowerCase() as Address);
}

function readBalance(pass: Pass, contract: Address | null): Promise<bigint> {
  const { account, chain, head } = pass;
  if (contract === null) return chain.getBalance(account.address, head.number);
  return readNumber(pass, contract, makeBalanceData(account.address));
}

/** Undefined where the contract is not a token, so that only its own payments wait. */
async function findDecimals({ chain, head }: Pass, contract: Address): Promise<bigint | undefined> {
  try {
    return decodeNumber(await chain.call({ to: contract, data: readDecimalsData }, head.number));
  } catch (error) {
    if (isRevert(error)) return undefined;
    throw error;
  }
}

async function readNumber(
  { chain, head }: Pass,
  contract: Address,
  data: `0x${string}`,
): Promise<bigint> {
  const number = decodeNumber(await chain.call({ to: contract, data }, head.number));
  if (number !== undefined) return number;
  throw new RpcError(`${chain.endpoint} returned no token balance`, { kind: 'garbage' });
}
