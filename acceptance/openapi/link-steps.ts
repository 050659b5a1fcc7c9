import { images } from './other-steps.ts';
import { type Known, payoutOf, readText, type Step, userOf } from './steps.ts';

/** The brand of the account, and the links that lead its recipients to pages. */

const keepLink = (body: unknown): Known => ({
  recipient_link: readText(body, 'url').split('/').pop() ?? '',
  recipient_link_token: readText(body, 'link_token'),
});
const linkOf = (known: Known) => ({ params: { token: known['recipient_link'] ?? '' } });

const detailsOf = (known: Known, value: string) => ({
  ...linkOf(known),
  body: { values: [{ token: known['clabe_token'] ?? '', value }] },
});

const brand: Step[] = [
  {
    operationId: 'changeBrand',
    summary: 'Name, color and notice',
    request: () => ({
      body: {
        display_name: 'Aurelia Remit',
        color: '#7a1fa2',
        privacy_url: 'https://shop.example/privacy',
      },
    }),
  },
  { operationId: 'readBrand', summary: 'As recipients see it', request: () => ({}) },
];

export const linkSteps: Step[] = [
  ...brand,
  {
    operationId: 'createRecipientLink',
    summary: 'For the details of a bank account',
    request: (known) => ({
      params: userOf(known),
      body: {
        purpose: 'payout_details',
        destination_token: known['bank_token'],
        currency: 'MXN',
        redirect_url: 'https://shop.example/thanks',
      },
    }),
    keep: keepLink,
  },
  {
    operationId: 'readRecipientPage',
    summary: 'The form',
    credential: 'none',
    request: linkOf,
    keep: (body) => ({ clabe_token: readText(body, 'details', 'fields', 0, 'token') }),
  },
  {
    operationId: 'checkRecipientDetails',
    summary: 'A typing error',
    credential: 'none',
    request: (known) => detailsOf(known, '032180000118359710'),
  },
  {
    operationId: 'storeRecipientDetails',
    summary: 'Stored',
    credential: 'none',
    request: (known) => detailsOf(known, '032180000118359719'),
  },
  {
    operationId: 'createRecipientLink',
    summary: 'For the state of a payout',
    request: (known) => ({
      params: userOf(known),
      body: {
        purpose: 'payout_status',
        payout_token: payoutOf(known, 'a bank account payout_token').payout_token,
      },
    }),
    keep: keepLink,
  },
  {
    operationId: 'listRecipientLinks',
    summary: 'One open, one used',
    request: (known) => ({ params: userOf(known) }),
  },
  {
    operationId: 'revokeRecipientLink',
    summary: 'Withdrawn',
    request: (known) => ({
      params: { ...userOf(known), link_token: known['recipient_link_token'] ?? '' },
    }),
  },
  {
    operationId: 'createUser',
    summary: 'To verify',
    isHidden: true,
    request: () => ({
      body: {
        internal_user_id: 'customer-2099',
        country: 'MEX',
        first_name: 'Bea',
        last_name: 'Luna',
        email: 'bea@example.org',
      },
    }),
    keep: (body) => ({ unverified_user: readText(body, 'user_token') }),
  },
  {
    operationId: 'createRecipientLink',
    summary: 'For an identity check',
    request: (known) => ({
      params: { user_token: known['unverified_user'] ?? '' },
      body: { purpose: 'verification' },
    }),
    keep: keepLink,
  },
  {
    operationId: 'uploadImagesByRecipientLink',
    summary: 'Three images',
    credential: 'none',
    request: (known) => ({ ...linkOf(known), body: images }),
  },
];
