import type { RailHost } from '../contract/contract.ts';
import type { PayerDeclaration } from '../contract/declarations.ts';
import type { Api } from './api.ts';
import type { Batches } from './batch-records.ts';
import type { PaypalConfig } from './config.ts';
import type { Payments } from './payments.ts';

export type RailParts = {
  readonly config: PaypalConfig;
  readonly host: RailHost;
  readonly api: Api;
  readonly payments: Payments;
  readonly batches: Batches;
  readonly payers: ReadonlyMap<string, PayerDeclaration>;
};
