import type { Address } from '@solana/kit';
import { testConformance } from '../../../testing/conformance/conformance.ts';
import { makeKey, startSolana } from '../../../testing/counterparties/solana/solana-simulator.ts';
import { addressAttribute } from './payment.ts';
import { railModule } from './rail.ts';

testConformance({
  module: railModule,
  clock: 'real',
  unsupported: {
    callbacks: 'a chain sends no callbacks',
    files: 'a chain writes no files',
    return: 'a transfer on a chain is never sent back',
  },
  booking: /sendTransaction/,
  openCounterparty: async () => {
    const solana = await startSolana();
    const { secretKey, address: payer } = makeKey();
    const mint = await solana.createMint(6);
    solana.giveSol(payer, 1_000_000_000n);
    await solana.giveTokens({ owner: payer, mint }, 1_000_000_000n);
    let orders = 0;
    return {
      address: { host: '127.0.0.1', port: solana.port },
      config: (address) => ({
        rpcUrls: [`http://${address?.host}:${address?.port}`],
        cluster: 'private',
        genesisHash: solana.genesisHash,
        key: { secretKey },
        tokens: [{ currency: 'USDC', mint, decimals: 6 }],
        pollSeconds: 0.05,
        rpcTimeoutSeconds: 1,
      }),
      instruct: async (draft, expectedOutcome) => {
        const { address: recipient } = makeKey();
        if (expectedOutcome === 'rejected') {
          await solana.giveTokens({ owner: recipient, mint }, 0n, { isFrozen: true });
        }
        orders += 1;
        return {
          ...draft,
          payerKey: 'wallet',
          countryCode: 'DEU',
          deliveryType: 'CRYPTOCURRENCY',
          currency: 'USDC',
          amountMinor: 1_000_000n + BigInt(orders),
          attributes: { [addressAttribute]: recipient },
        };
      },
      payments: ({ attributes }) =>
        solana.listPaid((attributes[addressAttribute] ?? '') as Address, mint),
      advance: async () => solana.advance(),
      close: () => solana.close(),
    };
  },
});
