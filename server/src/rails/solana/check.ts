import type { CallContext } from '../contract/contract.ts';
import { RpcError } from '../kit/json-rpc.ts';
import { type Cluster, listClusters } from './cluster.ts';
import { isRightCluster } from './config.ts';
import type { SolanaParts } from './parts.ts';
import { readBalance } from './sign.ts';
import { getNetworkFee, tokenAccountBytes } from './transfer.ts';

/** Problems of the setup that the endpoints show; sentences for the operator. */
export async function listSetupProblems(
  parts: SolanaParts,
  { signal }: CallContext,
): Promise<string[]> {
  const problems: string[] = [];
  for (const cluster of listClusters(parts, signal)) {
    try {
      problems.push(...(await listEndpointProblems(parts, cluster)));
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      problems.push(error.message);
    }
  }
  return problems;
}

async function listEndpointProblems(parts: SolanaParts, cluster: Cluster): Promise<string[]> {
  const { config, payer } = parts;
  if (!isRightCluster(config, await cluster.getGenesisHash())) {
    return [`${cluster.endpoint} serves another cluster than ${config.cluster}`];
  }
  const problems: string[] = [];
  const cost = getNetworkFee(config.fees.priorityMicroLamports);
  if ((await cluster.getBalance(payer.address)) < cost) {
    problems.push(`the account ${payer.address} has no SOL to pay fees with`);
  }
  const rent = await cluster.getRent(tokenAccountBytes);
  if (cost + rent > config.fees.transactionMaxLamports) {
    problems.push(
      `fees.transactionMaxLamports must be at least ${cost + rent}, or recipients without an ` +
        'account for the token cannot be paid',
    );
  }
  for (const token of config.tokens) {
    if ((await readBalance(parts, cluster, token)) !== undefined) continue;
    problems.push(
      `the mint of ${token.currency} is not a token of the SPL Token program with ` +
        `${token.decimals} decimals`,
    );
  }
  return problems;
}
