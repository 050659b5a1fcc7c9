import type { Address } from 'viem';
import { isRevert } from './chain.ts';
import type { Pass } from './parts.ts';
import type { KeptPayment } from './payment.ts';
import { RpcError } from './rpc.ts';
import { decodeNumber, makeBalanceData, readDecimalsData } from './transaction.ts';

/**
 * What the account can still spend as of the block of the pass: its balances less all that is
 * signed and not mined up to that block.
 */
export type Funds = {
  find(contract: Address | null): Promise<bigint>;
  take(contract: Address | null, amount: bigint): void;
  /** Whether the contract says the decimals that the operator wrote down. */
  hasDecimals(contract: Address, decimals: number): Promise<boolean>;
};

export function openFunds(pass: Pass, unmined: readonly KeptPayment[]): Funds {
  const balances = new Map<Address | null, Promise<bigint>>();
  const taken = new Map<Address | null, bigint>();
  const decimals = new Map<Address, Promise<bigint | undefined>>();
  const take = (contract: Address | null, amount: bigint): void => {
    const key = nameKey(contract);
    taken.set(key, (taken.get(key) ?? 0n) + amount);
  };
  for (const { payment } of unmined) {
    take(payment.contract, BigInt(payment.units));
    const gasCosts = payment.attempts.map((one) => BigInt(one.gas) * BigInt(one.maxFeePerGas));
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
      const said = decimals.get(contract) ?? findDecimals(pass, contract);
      decimals.set(contract, said);
      return (await said) === BigInt(expected);
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

/** Undefined where the contract says none, so that it is held up alone. */
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
  throw new RpcError(`${chain.endpoint} knows no such token`, { kind: 'garbage' });
}
