import type { CallContext } from '../contract/contract.ts';
import type { Chain } from './chain.ts';
import { askMemoryState, readMemoryState } from './memory-check.ts';
import { type EvmParts, listChains, noFinality } from './parts.ts';
import { RpcError } from './rpc.ts';
import { decodeNumber, readDecimalsData } from './transaction.ts';

/** What is wrong with the setup, for the operator, as far as asking the endpoints shows. */
export async function findFaults(parts: EvmParts, context: CallContext): Promise<string[]> {
  const faults: string[] = [];
  const { signal } = context;
  for (const chain of listChains(parts, signal)) {
    try {
      faults.push(...(await findEndpointFaults(parts, chain)));
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      faults.push(error.message);
    }
  }
  await askMemoryState(parts, context);
  if ((await readMemoryState(parts)) === 'behind') {
    faults.push(
      "the chain has transactions of the account that the rail's memory lacks: nothing is signed " +
        'until the recovery is released',
    );
  }
  return faults;
}

async function findEndpointFaults({ config, account }: EvmParts, chain: Chain): Promise<string[]> {
  const chainId = await chain.getChainId();
  if (chainId !== config.chainId) {
    return [`${chain.endpoint} speaks for chain ${chainId}, not for ${config.chainId}`];
  }
  const faults: string[] = [];
  const head = await chain.getHead();
  if ((await chain.getBalance(account.address, head.number)) === 0n) {
    faults.push(`the account ${account.address} has no ether, without which nothing can be sent`);
  }
  if (config.finalBlocks === undefined && (await chain.findFinalizedNumber()) === undefined) {
    faults.push(noFinality(chain.endpoint));
  }
  for (const { currency, address, decimals } of config.tokens) {
    const said = decodeNumber(
      await chain.call({ to: address, data: readDecimalsData }, head.number),
    );
    if (said === undefined) faults.push(`${address} for ${currency} is no token on this chain`);
    else if (said !== BigInt(decimals)) {
      faults.push(`the token of ${currency} has ${said} decimals, not ${decimals}`);
    }
  }
  return faults;
}
