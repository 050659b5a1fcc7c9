import { z } from 'zod';
import { findCountry } from '../core/country.ts';
import type { Sender } from '../rails/contract/contract.ts';
import { findSender, isLei, registrationTypes, setSender } from '../travel-rule/sender.ts';
import { getAccountId } from './account.ts';
import { defineCommand } from './command.ts';
import { account, oneOf, option, reason, visible } from './options.ts';

/** The client as the operator has verified it, for rules on the data of senders. */

const country = option(
  { value: 'code', about: 'of its registration, three letters such as DEU' },
  z.string().refine((code) => findCountry(code) !== undefined, {
    error: 'must be a country code of three letters, such as DEU',
  }),
);

const authority = option(
  { value: 'code', about: "of the GLEIF's list of registration authorities, such as RA000242" },
  z.string().regex(/^RA\d{6}$/, 'must be RA and six digits'),
);

export const senderCommands = [
  defineCommand({
    name: 'account sender',
    permission: 'read',
    about: 'show the verified data of a client as a sender',
    options: { account },
    run: async (context, { account: id }) => {
      const sender = await findSender(context.db.system, await getAccountId(context, id));
      return describeSender(sender);
    },
  }),
  defineCommand({
    name: 'account set-sender',
    permission: 'operate',
    about: 'store the verified data of a client as a sender; it replaces what was stored',
    options: {
      account,
      legalName: visible({ value: 'name', about: 'registered name' }, 200),
      address1: visible({ value: 'text', about: 'street and number' }, 200).optional(),
      city: visible({ value: 'text', about: 'town' }, 100).optional(),
      stateProvince: visible({ value: 'text', about: 'state or province' }, 100).optional(),
      postalCode: visible({ value: 'text', about: 'postal code' }, 20).optional(),
      country,
      registrationType: oneOf('kind of its number', registrationTypes).optional(),
      registration: visible({ value: 'number', about: 'its number' }, 100).optional(),
      registrationAuthority: authority.optional(),
      reason,
    },
    snapshot: async ({ db }, { account: id }) => describeSender(await findSender(db.system, id)),
    check: ({ registrationType: type, registration, registrationAuthority }) => {
      if ((type === undefined) !== (registration === undefined)) {
        return '--registration-type and --registration go together';
      }
      const needsAuthority = type !== undefined && type !== 'LEIX';
      if (needsAuthority !== (registrationAuthority !== undefined)) {
        return needsAuthority
          ? '--registration-authority is missing'
          : '--registration-authority goes with a registration that is no LEI';
      }
      if (type === 'LEIX' && !isLei(registration ?? '')) {
        return '--registration must be a legal entity identifier (ISO 17442); a character may be mistyped';
      }
      return undefined;
    },
    run: async (context, { account: id, reason: _reason, ...values }) => {
      await setSender(context.db.system, await getAccountId(context, id), {
        legalName: values.legalName,
        address1: values.address1 ?? '',
        city: values.city ?? '',
        stateProvince: values.stateProvince ?? '',
        postalCode: values.postalCode ?? '',
        countryCode: values.country,
        registrationType: values.registrationType ?? '',
        registrationId: values.registration ?? '',
        registrationAuthority: values.registrationAuthority ?? '',
      });
      return { result: 'done' };
    },
  }),
];

/** Undefined: nothing is stored. */
function describeSender(sender: Sender | undefined) {
  return {
    legal_name: sender?.legalName ?? '',
    address1: sender?.address1 ?? '',
    city: sender?.city ?? '',
    state_province: sender?.stateProvince ?? '',
    postal_code: sender?.postalCode ?? '',
    country: sender?.countryCode ?? '',
    registration_type: sender?.registrationType ?? '',
    registration: sender?.registrationId ?? '',
    registration_authority: sender?.registrationAuthority ?? '',
  };
}
