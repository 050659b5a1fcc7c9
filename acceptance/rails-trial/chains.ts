import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { bech32 } from '@scure/base';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { startAnvil } from '../../server/testing/counterparties/evm/anvil.ts';
import {
  startLitecoind,
  type TestNode,
} from '../../server/testing/counterparties/utxo/litecoind.ts';
import { describeConfig, openAccount } from '../../server/testing/setups/utxo.ts';
import {
  type BookedPayment,
  type Counterpart,
  type CounterpartPlaces,
  type Destination,
  declareRail,
} from './counterpart.ts';
import { writeSecret } from './secrets.ts';

/** Chains of our own: anvil with a token, and Litecoin Core in regtest where it is installed. */

const recipientsCount = 8;

export async function openEthereum({ folder }: CounterpartPlaces): Promise<Counterpart> {
  const anvil = await startAnvil({ blockSeconds: 1 });
  const privateKey = generatePrivateKey();
  const payer = privateKeyToAccount(privateKey).address;
  const token = await anvil.deployToken(6);
  await anvil.giveEther(payer, '100000');
  await anvil.giveTokens(token, payer, 1_000_000_000_000n);
  const makeAddress = (): string => privateKeyToAccount(generatePrivateKey()).address;
  const blocked = makeAddress();
  await anvil.blockHolder(token, blocked);
  const config = {
    rpcUrls: [anvil.url],
    chainId: anvil.chainId,
    key: { privateKey: writeSecret(folder, { name: 'chain', value: privateKey }) },
    tokens: [{ currency: 'USDC', address: token, decimals: 6 }],
    defaultBlocks: 2,
    finalBlocks: 4,
    inFlightMax: 30,
    pollSeconds: 0.5,
    fees: { replaceAfterSeconds: 60, shareMaxBasisPoints: null },
  };
  const rail = 'ethereum';
  const describe = (currency: string, address: string, plannedOutcome: string): Destination => ({
    way: { country: 'DEU', deliveryType: 'CRYPTOCURRENCY', currency },
    payerName: 'Trial Ethereum',
    values: { BankAccountNumber: address },
    plannedOutcome,
  });
  return {
    rail,
    config: declareRail({ kind: 'evm', name: rail, config }, [
      {
        key: 'wallet',
        name: 'Trial Ethereum',
        country: 'DEU',
        deliveryType: 'CRYPTOCURRENCY',
        currencies: ['ETH', 'USDC'],
      },
    ]),
    destinations: [
      ...Array.from({ length: recipientsCount }, (_, index) =>
        describe(index % 2 === 0 ? 'ETH' : 'USDC', makeAddress(), 'paid'),
      ),
      describe('USDC', blocked, 'the token turns it down'),
    ],
    isQuiet: () => Promise.resolve(true),
    listBooked: async () =>
      (await anvil.listPayments(payer)).map(({ recipient, contract, units }) =>
        describePayment(recipient, {
          currency: contract === null ? 'ETH' : 'USDC',
          // Ether has nine digits here.
          amountMinor: contract === null ? units / 10n ** 9n : units,
        }),
      ),
    close: anvil.close,
  };
}

function describePayment(
  recipient: string,
  amount: { currency: string; amountMinor: bigint },
): BookedPayment {
  return { reference: undefined, recipient, ...amount, state: 'paid', returnedMinor: 0n };
}

export function isLitecoindInstalled(): boolean {
  const program = process.env['LITECOIND'] ?? 'litecoind';
  return spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0;
}

export async function openLitecoin({ folder }: CounterpartPlaces): Promise<Counterpart> {
  const node = await startLitecoind();
  const account = await openAccount(node, 'node');
  await node.fund(
    account.deposit,
    Array.from({ length: 20 }, () => '10'),
  );
  await node.mine(1);
  const config = {
    ...(describeConfig(node, account, {
      mainAddresses: true,
      batch: { waitSeconds: 1 },
      // The trial moves the clock by days.
      waitMaxSeconds: 30 * 86_400,
      pollSeconds: 1,
    }) as { rpc: object }),
  };
  const credentials = writeSecret(folder, { name: 'node', value: node.credentials });
  const rail = 'litecoin';
  return {
    rail,
    config: declareRail(
      { kind: 'utxo', name: rail, config: { ...config, rpc: { ...config.rpc, credentials } } },
      [
        {
          key: 'ltc',
          name: 'Trial Litecoin',
          country: 'DEU',
          deliveryType: 'CRYPTOCURRENCY',
          currencies: ['LTC'],
        },
      ],
    ),
    destinations: Array.from({ length: recipientsCount }, () => ({
      way: { country: 'DEU', deliveryType: 'CRYPTOCURRENCY', currency: 'LTC' },
      payerName: 'Trial Litecoin',
      values: { BankAccountNumber: makeLitecoinAddress() },
      plannedOutcome: 'paid',
    })),
    crash: async () => {
      await node.stop('kill');
      await node.start();
    },
    turn: () => node.mine(1),
    isQuiet: () => Promise.resolve(true),
    listBooked: () => listOutputs(node),
    close: node.close,
  };
}

/** An address of the main network without a known key. */
function makeLitecoinAddress(): string {
  return bech32.encode('ltc', [0, ...bech32.toWords(randomBytes(20))]);
}

type Block = { tx: { vout: { value: number; scriptPubKey: { hex: string } }[] }[] };

/** Every output of the chain, under the main network's name of its address. */
async function listOutputs(node: TestNode): Promise<BookedPayment[]> {
  const height = await node.call<number>('getblockcount');
  const booked: BookedPayment[] = [];
  for (let number = 1; number <= height; number += 1) {
    const hash = await node.call('getblockhash', [number]);
    const { tx } = await node.call<Block>('getblock', [hash, 2]);
    for (const { value, scriptPubKey } of tx.flatMap(({ vout }) => vout)) {
      const [, program] = /^0014([0-9a-f]{40})$/.exec(scriptPubKey.hex) ?? [];
      if (program === undefined) continue;
      const recipient = bech32.encode('ltc', [0, ...bech32.toWords(Buffer.from(program, 'hex'))]);
      const amountMinor = BigInt(Math.round(value * 1e8));
      booked.push(describePayment(recipient, { currency: 'LTC', amountMinor }));
    }
  }
  return booked;
}
