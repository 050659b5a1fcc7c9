import { type Corridor, makeCorridor } from '../attributes/requirements.ts';
import { getCountry } from '../core/country.ts';
import type { Rail } from '../rails/contract/contract.ts';
import type { DeliveryType } from '../rails/contract/declarations.ts';

/** Of a stored payout, or its quote: through which payer of which rail it goes. */
export type StoredRoute = {
  readonly rail: string;
  readonly payer_key: string;
  readonly country: string;
  readonly delivery_type: string;
  readonly destination_currency: string;
};

/**
 * What a stored payout required of its recipient, as its payer is declared now. Where the payer is no
 * longer configured, it is what the delivery type usually asks for.
 */
export function findStoredCorridor(rails: readonly Rail[], route: StoredRoute): Corridor {
  const rail = rails.find(({ name }) => name === route.rail);
  const payer = rail?.payers.find(({ key }) => key === route.payer_key);
  const deliveryType = route.delivery_type as DeliveryType;
  const networks = deliveryType === 'CRYPTOCURRENCY' ? (rail?.networks ?? {}) : {};
  const currency = route.destination_currency;
  const asked = rail?.findRequirements?.(route.payer_key, currency);
  return makeCorridor(
    {
      country: getCountry(route.country),
      deliveryType,
      networks,
      accountForm: payer?.accountForm,
      requirements: asked === undefined ? undefined : { [currency]: asked },
    },
    currency,
  );
}
