import { randomBytes } from 'node:crypto';
import { after, afterEach, before } from 'node:test';
import type { PayerDeclaration } from '../../src/rails/contract/declarations.ts';
import {
  openPartnerRail,
  openWithSecrets,
  type PartnerOptions,
  type PartnerRail,
} from './partner.ts';

type Partner = Awaited<ReturnType<typeof openWithSecrets>>;

type Part = {
  readonly capabilities: NonNullable<PartnerOptions['capabilities']>;
  readonly behavior: Omit<PartnerOptions, 'capabilities'>;
  readonly payers: readonly PayerDeclaration[];
};

/**
 * Before the tests of a file it opens a partner at the light level that has these optional parts, and a
 * rail that uses them; after each test the partner has no faults or defects any more.
 */
export function servePartnerParts(
  { capabilities, behavior, payers }: Part,
  take: (opened: { partner: Partner; subject: PartnerRail }) => void,
): void {
  const newKey = (id: string) => ({ id, key: randomBytes(32).toString('base64') });
  const key = newKey('outlay-1');
  let partner: Partner;
  let subject: PartnerRail;
  before(async () => {
    const secrets = { light: { outlayKeys: [key], callbackKey: newKey('partner-1') } };
    // No payment settles by itself.
    partner = await openWithSecrets({ settleMs: 86_400_000, capabilities, ...behavior }, secrets);
    subject = await openPartnerRail({
      url: `http://127.0.0.1:${partner.port}`,
      payers: [...payers],
      config: {
        light: { authentication: { kind: 'hmac', key } },
        capabilities,
        timeoutSeconds: 10,
      },
    });
    take({ partner, subject });
  });
  after(async () => {
    await subject.close();
    await partner.close();
  });
  afterEach(() => {
    partner.state.options.faults = [];
    partner.state.options.defects = [];
  });
}
