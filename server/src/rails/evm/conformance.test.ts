import { after } from 'node:test';
import { type Address, type Hex } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { testConformance } from '../../../testing/conformance/conformance.ts';
import { type Anvil, startAnvil } from '../../../testing/counterparties/evm/anvil.ts';
import type { Instruction } from '../contract/contract.ts';
import { addressAttribute } from './payment.ts';
import { railModule } from './rail.ts';

type Chain = { readonly anvil: Anvil; readonly token: Address };

/** Cases at the same time have each a chain of their own; the next ones continue with it. */
const chains: Chain[] = [];
const idle: Chain[] = [];

async function openChain(): Promise<Chain> {
  const free = idle.pop();
  if (free !== undefined) return free;
  const anvil = await startAnvil();
  const chain = { anvil, token: await anvil.deployToken(6) };
  chains.push(chain);
  return chain;
}

after(async () => {
  for (const { anvil } of chains) await anvil.close();
});

testConformance({
  module: railModule,
  clock: 'real',
  unsupported: {
    callbacks: 'a chain sends no callbacks',
    files: 'a chain writes no files',
    return: 'a transfer on a chain is never sent back',
  },
  booking: /eth_sendRawTransaction/,
  openCounterparty: async () => {
    const chain = await openChain();
    const { anvil, token } = chain;
    const privateKey = generatePrivateKey();
    const payer = privateKeyToAccount(privateKey).address;
    await anvil.giveEther(payer, '10');
    await anvil.giveTokens(token, payer, 1_000_000_000n);
    const { hostname, port } = new URL(anvil.url);
    const toBeRefused = new Set<string>();
    let orders = 0;
    return {
      address: { host: hostname, port: Number(port) },
      config: (address) => ({
        rpcUrls: [`http://${address?.host}:${address?.port}`],
        chainId: anvil.chainId,
        key: { privateKey },
        tokens: [{ currency: 'USDC', address: token, decimals: 6 }],
        defaultBlocks: 2,
        finalBlocks: 3,
        pollSeconds: 0.05,
        rpcTimeoutSeconds: 1,
        fees: { replaceAfterSeconds: 1, nativePerUnit: { USDC: '0.5' } },
      }),
      instruct: (draft, expectedOutcome) => {
        const recipient = privateKeyToAccount(generatePrivateKey()).address;
        if (expectedOutcome === 'rejected') toBeRefused.add(recipient);
        orders += 1;
        return {
          ...draft,
          payerKey: 'wallet',
          countryCode: 'DEU',
          deliveryType: 'CRYPTOCURRENCY',
          currency: expectedOutcome === 'rejected' || orders % 2 === 0 ? 'USDC' : 'ETH',
          amountMinor: 1_000_000n + BigInt(orders),
          attributes: { [addressAttribute]: recipient },
        };
      },
      payments: async (instruction) => {
        const mined = await anvil.listPayments(payer);
        const waiting = await listPool(anvil, payer);
        return [...mined, ...waiting.filter(({ recipient }) => !toBeRefused.has(recipient))]
          .filter(({ recipient }) => isFor(instruction, recipient))
          .map(({ contract, units }) => (contract === null ? units / 10n ** 9n : units));
      },
      advance: async () => {
        // Set after signing, so that the transfer reverts when mined.
        for (const { recipient } of await listPool(anvil, payer)) {
          const refused = [...toBeRefused].find((one) => one.toLowerCase() === recipient);
          if (refused !== undefined) await anvil.blockHolder(token, refused);
        }
        await anvil.mine(1);
      },
      close: async () => {
        idle.push(chain);
      },
    };
  },
});

function isFor({ attributes }: Instruction, recipient: string): boolean {
  return attributes[addressAttribute]?.toLowerCase() === recipient;
}

/** What the node would mine next for an account. */
async function listPool(anvil: Anvil, payer: Address) {
  type Waiting = { to: string; value: Hex; input: Hex };
  const pool =
    await anvil.rpc<Record<'pending' | 'queued', Record<string, Record<string, Waiting>>>>(
      'txpool_content',
    );
  return [pool.pending, pool.queued].flatMap((accounts) =>
    Object.entries(accounts)
      .filter(([account]) => account.toLowerCase() === payer.toLowerCase())
      .flatMap(([, transactions]) => Object.values(transactions))
      .map(({ to, value, input }) =>
        input === '0x'
          ? { recipient: to.toLowerCase(), contract: null, units: BigInt(value) }
          : {
              recipient: `0x${input.slice(34, 74)}`.toLowerCase(),
              contract: to.toLowerCase(),
              units: BigInt(`0x${input.slice(74)}`),
            },
      ),
  );
}
