import {
  type Address,
  decodeEventLog,
  decodeFunctionData,
  encodeFunctionData,
  erc20Abi,
  type Hex,
  isAddressEqual,
  keccak256,
  parseTransaction,
  recoverTransactionAddress,
} from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { assert } from '../../core/errors.ts';
import type { BlockTransaction, Receipt } from './chain.ts';
import type { FeeOffer } from './fees.ts';

/** Signing of transfers, and what a mined transaction did. */

/** Coin where `contract` is null, else units of that token. */
export type Transfer = {
  readonly recipient: Address;
  readonly units: bigint;
  readonly contract: Address | null;
};

export type TransactionPlan = FeeOffer & {
  readonly chainId: number;
  readonly nonce: number;
  readonly gas: bigint;
};

export type SignedTransaction = { readonly raw: Hex; readonly hash: Hex };

type Payload = { readonly to: Address; readonly value: bigint; readonly data: Hex };

export function makePayload({ recipient, units, contract }: Transfer): Payload {
  if (contract === null) return { to: recipient, value: units, data: '0x' };
  const data = encodeFunctionData({
    abi: erc20Abi,
    functionName: 'transfer',
    args: [recipient, units],
  });
  return { to: contract, value: 0n, data };
}

/** Signs, then verifies from the bytes that they pay exactly the order. */
export async function signTransfer(
  account: PrivateKeyAccount,
  transfer: Transfer,
  plan: TransactionPlan,
): Promise<SignedTransaction> {
  const raw = await account.signTransaction({ type: 'eip1559', ...makePayload(transfer), ...plan });
  await checkSigned(raw, account.address, { transfer, plan });
  return { raw, hash: keccak256(raw) };
}

/** @throws AssertionError where the bytes differ from the order. */
export async function checkSigned(
  raw: Hex,
  sender: Address,
  order: { readonly transfer: Transfer; readonly plan: TransactionPlan },
): Promise<void> {
  const { transfer, plan } = order;
  const signed = parseTransaction(raw);
  assert(signed.type === 'eip1559', 'the signed transaction has the type EIP-1559');
  assert(signed.chainId === plan.chainId, 'the signed transaction is for the chain of the rail');
  assert((signed.nonce ?? 0) === plan.nonce, 'the signed transaction has the nonce of the payment');
  assert((signed.gas ?? 0n) === plan.gas, 'the signed transaction has the gas of the plan');
  assert(
    signed.maxFeePerGas === plan.maxFeePerGas,
    'the signed transaction has the planned maxFeePerGas',
  );
  assert(
    (signed.maxPriorityFeePerGas ?? 0n) === plan.maxPriorityFeePerGas,
    'the signed transaction has the planned tip',
  );
  assert((signed.accessList ?? []).length === 0, 'the signed transaction has no access list');
  const paid = readPayload({
    to: signed.to ?? null,
    value: signed.value ?? 0n,
    data: signed.data ?? '0x',
  });
  assert(paid !== undefined && isSameTransfer(paid, transfer), 'the signed bytes pay the order');
  const signer = await recoverTransactionAddress({ serializedTransaction: raw as `0x02${string}` });
  assert(isAddressEqual(signer, sender), 'the account of the rail signed the transaction');
}

/** A transfer of coin, or a token's `transfer`; undefined for anything else. */
function readPayload(payload: {
  to: Address | null;
  value: bigint;
  data: Hex;
}): Transfer | undefined {
  const { to, value, data } = payload;
  if (to === null) return undefined;
  if (data === '0x') return { recipient: to, units: value, contract: null };
  // The selector of transfer(address,uint256) and two words, exactly.
  if (value !== 0n || !data.startsWith('0xa9059cbb') || data.length !== 2 + 2 * 68)
    return undefined;
  const { args } = decodeFunctionData({ abi: erc20Abi, data });
  const [recipient, units] = args as readonly [Address, bigint];
  return { recipient, units, contract: to };
}

export function readOrder(transaction: BlockTransaction): Transfer | undefined {
  return readPayload({ ...transaction, data: transaction.input });
}

export function isSameTransfer(first: Transfer, second: Transfer): boolean {
  const isSameMoney =
    first.contract === null || second.contract === null
      ? first.contract === second.contract
      : isAddressEqual(first.contract, second.contract);
  return (
    isSameMoney && first.units === second.units && isAddressEqual(first.recipient, second.recipient)
  );
}

export type Verdict = 'paid' | 'reverted' | 'unclear';

/**
 * A token transfer is proven only by its Transfer event (ERC-20) from the account to the recipient
 * for the whole amount. A contract that returns false or keeps a share succeeds without it.
 */
export function classifyReceipt(receipt: Receipt, sender: Address, transfer: Transfer): Verdict {
  if (receipt.status === '0x0') return 'reverted';
  const { contract } = transfer;
  if (contract === null) {
    return receipt.to !== null && isAddressEqual(receipt.to, transfer.recipient)
      ? 'paid'
      : 'unclear';
  }
  const events = receipt.logs
    .filter((log) => isAddressEqual(log.address, contract))
    .map(readTransferEvent)
    .filter((event) => event !== undefined && isAddressEqual(event.from, sender));
  const [event] = events;
  const isExact =
    events.length === 1 &&
    event !== undefined &&
    isAddressEqual(event.to, transfer.recipient) &&
    event.value === transfer.units;
  return isExact ? 'paid' : 'unclear';
}

function readTransferEvent(log: { topics: readonly Hex[]; data: Hex }) {
  // Topic 0 is the Keccak-256 of Transfer(address,address,uint256).
  const transferTopic = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
  const isTransfer = log.topics[0] === transferTopic && log.topics.length === 3;
  if (!isTransfer || log.data.length !== 66) return undefined;
  const topics = [...log.topics] as [Hex, ...Hex[]];
  const event = decodeEventLog({ abi: erc20Abi, eventName: 'Transfer', topics, data: log.data });
  return event.args;
}

export const readDecimalsData = encodeFunctionData({ abi: erc20Abi, functionName: 'decimals' });

/** undefined: not a number. */
export function decodeNumber(answer: Hex): bigint | undefined {
  return answer.length === 66 ? BigInt(answer) : undefined;
}

export function makeBalanceData(account: Address): Hex {
  return encodeFunctionData({ abi: erc20Abi, functionName: 'balanceOf', args: [account] });
}

/** Whether a simulated `transfer` returned false. Tokens such as USDT return nothing. */
export function isRefusal(answer: Hex): boolean {
  if (answer === '0x') return false;
  return decodeNumber(answer) !== 1n;
}
