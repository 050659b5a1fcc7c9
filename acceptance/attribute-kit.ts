import {
  attributePath,
  createUser,
  type DeliveryCase,
  type Destination,
  findPayer,
} from './recipients.ts';
import type { Api } from './service.ts';

/** Storing what destinations need of a new recipient. */

export async function reach(api: Api, delivery: DeliveryCase): Promise<Destination> {
  const payer = await findPayer(api, delivery);
  const userToken = await createUser(api, { country: delivery.country });
  return { userToken, destinationToken: payer.destination_token, currency: delivery.currency };
}

export type Stored = {
  attr_set_token: string;
  missing: {
    token: string;
    label: string;
    type: string;
    why: string;
    alternatives: { group: string; option: string; label: string; validation: string }[];
  }[];
  values: { token: string; value: string }[];
};

export const store = (
  api: Api,
  destination: Destination,
  { values, attrSetToken }: { values: unknown; attrSetToken?: string | undefined },
) =>
  api.post<Stored>(attributePath(destination), {
    values,
    ...(attrSetToken === undefined ? {} : { attr_set_token: attrSetToken }),
  });
