import { after, before } from 'node:test';
import { testConformance } from '../../../testing/conformance/conformance.ts';
import { startLitecoind, type TestNode } from '../../../testing/counterparties/utxo/litecoind.ts';
import type { Address } from '../../../testing/fault-proxy/fault-proxy.ts';
import { describeConfig, instruct, openAccount } from '../../../testing/setups/utxo.ts';
import { railModule } from './rail.ts';

/** On Litecoin Core in regtest; all cases share one node. */

let node: TestNode;
before(async () => {
  node = await startLitecoind();
});
after(() => node.close());

testConformance({
  module: railModule,
  clock: 'steered',
  casesAtOnce: 1,
  unsupported: {
    callbacks: 'a chain sends no callbacks',
    files: 'a chain has no files',
    return: 'what is in the chain does not come back',
  },
  booking: /"method":"sendrawtransaction"/,
  openCounterparty: async () => {
    const account = await openAccount(node, 'node');
    await node.fund(account.deposit, ['1', '2', '3']);
    await node.mine(1);
    return {
      address: node.address,
      config: (address: Address | undefined) =>
        describeConfig({ ...node, address: address ?? node.address }, account, {
          rpc: {
            url: `http://${node.address.host}:${address?.port ?? node.address.port}`,
            credentials: node.credentials,
            timeoutSeconds: 1,
          },
        }),
      instruct: async (draft, expectedOutcome) => ({
        ...instruct(
          expectedOutcome === 'rejected' ? 'invalid' : await node.newAddress(),
          1_000_000n,
        ),
        ...draft,
      }),
      payments: async ({ attributes }) => {
        const address = attributes['BankAccountNumber'] ?? '';
        if (address === 'invalid') return [];
        return (await node.listPaid(address)).map(({ amountMinor }) => amountMinor);
      },
      advance: () => node.mine(1),
      close: () => node.call('unloadwallet', [account.wallet]).then(() => undefined),
    };
  },
});
