import { after, before } from 'node:test';
import { type Account, createAccount, type Service, startService } from './service.ts';

/**
 * Before the tests of a file it starts a service and gives it to `take`, with an account that has
 * these funds (`{ USD: '100' }`); after them it stops the service.
 */
export function serveTests(
  funds: Readonly<Record<string, string>>,
  take: (served: Account & { readonly service: Service }) => void,
): void {
  let service: Service | undefined;
  before(async () => {
    service = await startService();
    take({ service, ...(await createAccount(service, funds)) });
  });
  after(() => service?.stop());
}
