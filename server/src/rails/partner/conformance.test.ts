import { randomBytes } from 'node:crypto';
import { testConformance } from '../../../testing/conformance/conformance.ts';
import { createAuthority } from '../../../testing/setups/certificates.ts';
import {
  openPartner,
  openWithSecrets,
  type PartnerOptions,
} from '../../../testing/setups/partner.ts';
import { getCurrency } from '../../core/currency.ts';
import { getAmountMinor } from '../../core/money.ts';
import { capabilities } from './capability-protocol.ts';
import { railModule } from './rail.ts';

const behavior: PartnerOptions = {
  settleMs: 30,
  collectMs: 30,
  fee: '0.50',
  rejectLaterPattern: '^rejected$',
  returnPattern: '^returned$',
  returnAfterMs: 30,
  callbackRetryMs: 50,
};

const quick = { timeoutSeconds: 1, orderSeconds: 1, bookingSeconds: 0, eventsSeconds: 1 };
const newKey = (id: string) => ({ id, key: randomBytes(32).toString('base64') });

type Opened = Omit<Awaited<ReturnType<typeof openPartner>>, 'keys'> & {
  readonly scheme: 'http' | 'https';
  readonly access: object;
};

async function openSigned(): Promise<Opened> {
  const { keys, ...partner } = await openPartner(behavior);
  const access = { signingKey: keys.outlay, partnerKeys: [keys.partner] };
  return { ...partner, scheme: 'http', access };
}

/** Every order leaves in a batch, also one that is due by itself. */
const everyOrder = { ordersMin: 1 };

async function openSignedInBatches(): Promise<Opened> {
  const { keys, ...partner } = await openPartner({ ...behavior, capabilities: ['batches'] });
  const keyed = { signingKey: keys.outlay, partnerKeys: [keys.partner] };
  const access = { ...keyed, capabilities: ['batches'], batches: everyOrder };
  return { ...partner, scheme: 'http', access };
}

async function openWithHmac(): Promise<Opened> {
  const key = newKey('outlay-1');
  const callbackKey = newKey('partner-1');
  const secrets = { light: { outlayKeys: [key], callbackKey } };
  const authentication = { kind: 'hmac', key };
  const light = { authentication, callbackKeys: [callbackKey], queryLagSeconds: 0 };
  // With optional parts as well, which change no outcome.
  const options = { ...behavior, capabilities: [...capabilities] };
  const access = { light, capabilities: [...capabilities], batches: everyOrder };
  return { ...(await openWithSecrets(options, secrets)), scheme: 'http', access };
}

async function openWithCertificates(): Promise<Opened> {
  const authority = createAuthority();
  const client = authority.issue('outlay');
  const tls = { ...authority.issue('partner'), clientAuthority: authority.certificate };
  const callbackKey = newKey('partner-1');
  const secrets = { light: { outlayKeys: [], callbackKey, tls } };
  const authentication = { kind: 'tls', ...client, authority: authority.certificate };
  const light = { authentication, callbackKeys: [callbackKey], queryLagSeconds: 0 };
  return { ...(await openWithSecrets(behavior, secrets)), scheme: 'https', access: { light } };
}

testLevel(openSigned);
testLevel(openSignedInBatches, {}, true);
testLevel(openWithHmac, {}, true);
const hidden = { connection: 'TLS hides the requests', http: 'TLS hides them' };
testLevel(openWithCertificates, hidden, true);

function testLevel(open: () => Promise<Opened>, unsupported: object = {}, isVariant = false): void {
  testConformance({
    module: railModule,
    clock: 'real',
    unsupported: { files: 'outcomes arrive by callbacks and queries', ...unsupported },
    booking: /^PUT \/(?:payments|batches)\//,
    isVariant,
    openCounterparty: async () => {
      const partner = await open();
      return {
        ...(partner.scheme === 'https'
          ? {}
          : { address: { host: '127.0.0.1', port: partner.port } }),
        config: (address) => ({
          baseUrl: `${partner.scheme}://127.0.0.1:${address?.port ?? partner.port}`,
          ...partner.access,
          ...quick,
        }),
        instruct: (draft, plannedOutcome) => ({
          ...draft,
          payerKey: plannedOutcome,
          countryCode: 'ESP',
          deliveryType: 'BANK_DEPOSIT',
          currency: 'EUR',
          amountMinor: 12_345n,
          attributes: { bank_account_number: 'ES9121000418450200051332' },
        }),
        payments: async ({ reference }) => {
          const { payments } = await partner.readRecords();
          const payment = payments[reference];
          if (payment === undefined || payment.state === 'rejected') return [];
          const amountMinor = getAmountMinor(payment.amount, getCurrency(payment.currency));
          // What is accepted may yet be paid; what went out twice counts twice.
          return Array<bigint>(Math.max(1, payment.paidCount)).fill(amountMinor);
        },
        close: partner.close,
      };
    },
  });
}
