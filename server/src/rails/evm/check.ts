import type { CallContext } from '../contract/contract.ts';
import { RpcError } from '../kit/json-rpc.ts';
import type { Chain } from './chain.ts';
import { readRecordedState } from './nonce-records.ts';
import { type EvmParts, listChains, noFinality } from './parts.ts';
import { readRecordState } from './record-check.ts';
import { decodeNumber, readDecimalsData } from './transaction.ts';

/** Problems of the setup that the endpoints show; sentences for the operator. */
export async function listSetupProblems(parts: EvmParts, context: CallContext): Promise<string[]> {
  const problems: string[] = [];
  const { signal } = context;
  for (const chain of listChains(parts, signal)) {
    try {
      problems.push(...(await listEndpointProblems(parts, chain)));
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      problems.push(error.message);
    }
  }
  await readRecordState(parts, context);
  if ((await readRecordedState(parts.nonces)) === 'behind') {
    problems.push(
      "the chain has transactions of the account that the rail's records lack: nothing is signed " +
        'until the recovery is released',
    );
  }
  return problems;
}

async function listEndpointProblems(
  { config, account }: EvmParts,
  chain: Chain,
): Promise<string[]> {
  const chainId = await chain.getChainId();
  if (chainId !== config.chainId) {
    return [`${chain.endpoint} serves chain ${chainId} instead of ${config.chainId}`];
  }
  const problems: string[] = [];
  const head = await chain.getHead();
  if ((await chain.getBalance(account.address, head.number)) === 0n) {
    problems.push(`the account ${account.address} has no ether to pay fees with`);
  }
  if (config.finalBlocks === undefined && (await chain.findFinalizedNumber()) === undefined) {
    problems.push(noFinality(chain.endpoint));
  }
  for (const { currency, address, decimals } of config.tokens) {
    const actual = decodeNumber(
      await chain.call({ to: address, data: readDecimalsData }, head.number),
    );
    if (actual === undefined)
      problems.push(`${address} for ${currency} is not a token on this chain`);
    else if (actual !== BigInt(decimals)) {
      problems.push(`the token of ${currency} has ${actual} decimals instead of ${decimals}`);
    }
  }
  return problems;
}
