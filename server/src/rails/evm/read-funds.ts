import { formatUnits } from 'viem';
import type { CallContext, RailFunds } from '../contract/contract.ts';
import { RpcError } from '../kit/json-rpc.ts';
import { getCoin } from './config.ts';
import { connectChain, type EvmParts } from './parts.ts';
import { decodeNumber, makeBalanceData } from './transaction.ts';

const etherDecimals = 18;

/** The balances of the account at the newest block, for the operator's gauges. */
export async function readFunds(parts: EvmParts, { signal }: CallContext): Promise<RailFunds[]> {
  const { account, config } = parts;
  const chain = await connectChain(parts, signal);
  if (chain === undefined) throw new RpcError('no endpoint answers', { kind: 'unreachable' });
  const { number } = await chain.getHead();
  const ether = await chain.getBalance(account.address, number);
  const funds: RailFunds[] = [
    { currency: getCoin(config), amount: formatUnits(ether, etherDecimals) },
  ];
  for (const { currency, address, decimals } of config.tokens) {
    const answer = await chain.call(
      { to: address, data: makeBalanceData(account.address) },
      number,
    );
    const units = decodeNumber(answer);
    if (units !== undefined) funds.push({ currency, amount: formatUnits(units, decimals) });
  }
  return funds;
}
