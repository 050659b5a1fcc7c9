import { type Address, encodeFunctionData, type Hex } from 'viem';
import type { Reason } from '../contract/reasons.ts';
import { RpcError } from '../kit/json-rpc.ts';
import { isRevert } from './chain.ts';
import type { Pass } from './parts.ts';
import { makeTransfer, type Payment } from './payment.ts';
import { decodeNumber, isRefusal, makePayload } from './transaction.ts';

/** Why a contract refuses a transfer: because of the recipient, or of any recipient. */

export type RefusalReason = Extract<
  Reason,
  'account_blocked' | 'recipient_refused' | 'payer_refused' | 'amount_refused'
>;

/**
 * Only a transfer that fails for any recipient is `payer_refused`, which allows failover. A refusal
 * of the recipient, such as an entry in the token's blacklist, must not be bypassed.
 */
export async function findRefusalReason(pass: Pass, payment: Payment): Promise<RefusalReason> {
  const { contract, recipient, units } = makeTransfer(payment);
  if (contract === null) return 'recipient_refused';
  if (await isBlacklisted(pass, contract, recipient)) return 'account_blocked';
  for (const other of [pass.account.address, uninvolved]) {
    const isAccepted = await isTransferAccepted(pass, { recipient: other, units, contract });
    if (isAccepted !== false) return 'recipient_refused';
  }
  return 'payer_refused';
}

/** An address without transactions. */
const uninvolved: Address = '0x5c4e7d2ba1f09360b8d9e3a6c17f24058ab6e9d1';

/** undefined: the node refuses the simulation. */
async function isTransferAccepted(
  pass: Pass,
  transfer: Parameters<typeof makePayload>[0],
): Promise<boolean | undefined> {
  const { to, data } = makePayload(transfer);
  const answer = await call(pass, { to, data });
  if (answer === 'reverted') return false;
  return answer === 'refused' ? undefined : !isRefusal(answer);
}

/** USDC's function, and USDT's spelling of it. */
const blacklistFunctions = ['isBlacklisted', 'isBlackListed'] as const;

async function isBlacklisted(pass: Pass, token: Address, holder: Address): Promise<boolean> {
  for (const functionName of blacklistFunctions) {
    const abi = [
      {
        type: 'function',
        name: functionName,
        stateMutability: 'view',
        inputs: [{ name: 'holder', type: 'address' }],
        outputs: [{ name: '', type: 'bool' }],
      },
    ] as const;
    const data = encodeFunctionData({ abi, functionName, args: [holder] });
    const answer = await call(pass, { to: token, data });
    if (answer.startsWith('0x') && decodeNumber(answer as Hex) === 1n) return true;
  }
  return false;
}

type CallResult = Hex | 'reverted' | 'refused';

async function call(pass: Pass, request: { to: Address; data: Hex }): Promise<CallResult> {
  try {
    const from = pass.account.address;
    return await pass.chain.call({ from, ...request }, pass.head.number);
  } catch (error) {
    if (isRevert(error)) return 'reverted';
    if (error instanceof RpcError && error.kind === 'refused') return 'refused';
    throw error;
  }
}
