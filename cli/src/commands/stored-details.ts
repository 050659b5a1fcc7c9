import type { Client } from '../../../sdk/src/index.ts';
import type { Context } from '../command.ts';
import { printable } from '../table.ts';
import type { Offer } from './destinations.ts';

/** Each is one request, and a country has a handful of payers of one type. */
const offersAskedMax = 10;

/**
 * The cheapest offer for which the recipient's details are complete, and the cheapest of all where there
 * is none: as a batch chooses. What would be cheaper is noted.
 */
export async function preferStoredDetails(
  { output, signal }: Pick<Context, 'output' | 'signal'>,
  client: Client,
  { user_token, offers }: { user_token: string; offers: readonly [Offer, ...Offer[]] },
): Promise<Offer> {
  const [cheapest] = offers;
  for (const offer of offers.slice(0, offersAskedMax)) {
    const { destination_token, currency_code: currency, payer_name } = offer;
    const place = { user_token, destination_token, currency };
    const { obstacles } = await client.getReadiness(place, { signal });
    if (obstacles.some(({ missing }) => missing.length > 0)) continue;
    if (offer !== cheapest) {
      const other = `${cheapest.payer_name} is cheaper, and needs details`;
      const token = cheapest.destination_token;
      output.note(
        printable(`${payer_name} has details of the recipient. ${other}: --destination ${token}`),
      );
    }
    return offer;
  }
  return cheapest;
}
