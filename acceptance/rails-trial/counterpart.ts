import type { DeliveryCase } from '../recipients.ts';

/** What stands at the other end of a rail: how it is configured, what is paid to it, what it booked. */

/** A recipient of payouts, as often as one likes. */
export type Destination = {
  readonly way: DeliveryCase;
  /** Of the payer in the look-up; undefined: one of the simulated network. */
  readonly payerName: string | undefined;
  /** Attribute type to value; the others of the corridor get ordinary ones. */
  readonly values: Readonly<Record<string, string>>;
  /** What the counterpart is known to do with it; for reports and for the simulated network. */
  readonly plannedOutcome: string;
};

/** A payout as the client asked for it. */
export type AskedPayout = {
  /** Of its payment, 32 hexadecimal digits. */
  readonly reference: string;
  readonly destination: Destination;
  readonly currency: string;
  readonly amountMinor: bigint;
};

/** A payment by the counterpart's own records. */
export type BookedPayment = {
  /** The payout it was ordered for, as far as the records have a reference. */
  readonly reference: string | undefined;
  /** Where there are no references: who was paid, in the words of `Destination.values`. */
  readonly recipient: string | undefined;
  readonly currency: string;
  readonly amountMinor: bigint;
  /**
   * `open`: it may yet be paid. `undone`: it came back for its form, which is a refusal until it
   * counts as paid, and a return afterwards.
   */
  readonly state: 'paid' | 'refused' | 'undone' | 'open';
  readonly returnedMinor: bigint;
};

export type Counterpart = {
  /** The name of its rail. */
  readonly rail: string;
  /** Its entry in the operator's file; undefined for the simulated network, which needs none. */
  readonly config: Readonly<Record<string, unknown>> | undefined;
  readonly destinations: readonly Destination[];
  /** Dies and comes back with its books; absent where it has no durable ones. */
  crash?(): Promise<void>;
  /** Once a second, such as a block. */
  turn?(): Promise<void>;
  /** When no more payouts come: what shall come late is held back, and then comes. */
  holdBack?(): Promise<void>;
  letCome?(): Promise<void>;
  /** Whether there is nothing left that it will say by itself. */
  isQuiet(): Promise<boolean>;
  /** All payments of its records; `asked` is for the simulated network, which keeps none. */
  listBooked(asked: readonly AskedPayout[]): Promise<readonly BookedPayment[]>;
  close(): Promise<void>;
};

export type CounterpartPlaces = {
  /** Of its own, in the folder of the trial. */
  readonly folder: string;
  /** Where the service takes this rail's callbacks. */
  readonly callbackUrl: string;
  /** By how many milliseconds the environment's clock is ahead stands in this file. */
  readonly clockFile: string;
};

export type PayerPlan = {
  readonly key: string;
  readonly name: string;
  readonly country: string;
  readonly deliveryType: string;
  readonly accountForm?: string;
  readonly currencies: readonly string[];
  readonly isDynamicToken?: boolean;
  /** What the kind of rail needs of the payer. */
  readonly options?: Readonly<Record<string, string>>;
};

/** A payer for the operator's file that delivers at once, every day, at any amount. */
export function declarePayer(plan: PayerPlan): Record<string, unknown> {
  return {
    key: plan.key,
    companyKey: 'trial',
    payerName: plan.name,
    countryCode: plan.country,
    deliveryType: plan.deliveryType,
    ...(plan.accountForm !== undefined && { accountForm: plan.accountForm }),
    currencies: plan.currencies,
    tariffs: [
      {
        fee: [{ upTo: null, fixed: '0.25', basisPoints: 30 }],
        marginBasisPoints: 50,
      },
    ],
    availability: { delay: { minutes: 5 } },
    isDynamicToken: plan.isDynamicToken ?? false,
    options: plan.options ?? {},
  };
}

export function declareRail(
  rail: { kind: string; name: string; config: unknown },
  payers: readonly PayerPlan[],
): Record<string, unknown> {
  return {
    ...rail,
    companies: [{ key: 'trial', name: `Trial ${rail.name}` }],
    payers: payers.map(declarePayer),
    // Far above everything, so that counting against it takes part.
    dailyLimits: Object.fromEntries(
      payers.flatMap(({ currencies }) => currencies.map((code) => [code, '900000'])),
    ),
  };
}
