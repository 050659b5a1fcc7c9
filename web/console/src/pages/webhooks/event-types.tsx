import { type ReactNode, useId } from 'react';
import type { Schemas } from '../../api/client.ts';
import './webhooks.css';

/** What an endpoint gets: all events, or those of the chosen types and families. */
export type EventChoice = { readonly isAll: boolean; readonly filters: readonly EventFilter[] };

type EventType = Schemas['Event']['type'];
export type EventFilter = NonNullable<Schemas['NewWebhook']['event_types']>[number];

/** The compiler finds a type that is missing here. */
const types: Readonly<Record<EventType, true>> = {
  'payout.pending': true,
  'payout.scheduled': true,
  'payout.processing': true,
  'payout.hold': true,
  'payout.error': true,
  'payout.ready_for_pickup': true,
  'payout.completed': true,
  'payout.cancelled': true,
  'payout.returned': true,
  'batch.receiving': true,
  'batch.draft': true,
  'batch.quoted': true,
  'batch.committing': true,
  'batch.committed': true,
  'batch.cancelled': true,
  'batch.removed': true,
  'proposal.created': true,
  'proposal.confirmed': true,
  'proposal.declined': true,
  'proposal.expired': true,
  'user.created': true,
  'user.updated': true,
  'user.erased': true,
  'attributes.stored': true,
  'verification.started': true,
  'verification.submitted': true,
  'verification.abandoned': true,
  'verification.expired': true,
  'verification.resubmitted': true,
  'verification.declined': true,
  'verification.approved': true,
  'verification.resubmission_requested': true,
  'verification.review': true,
  'balance.funded': true,
  'balance.adjusted': true,
  'account.frozen': true,
  'account.restored': true,
  'account.unfrozen': true,
  'credential.created': true,
  'credential.updated': true,
  'credential.revoked': true,
  'credential.expiring': true,
  'webhook.paused': true,
  'webhook.disabled': true,
  'webhook.delivery_abandoned': true,
};

const families = Map.groupBy(Object.keys(types) as EventType[], familyOf);

function familyOf(type: EventType): string {
  return type.slice(0, type.indexOf('.'));
}

export function chooseAs(filters: readonly string[]): EventChoice {
  return { isAll: filters.length === 0, filters: filters as readonly EventFilter[] };
}

/** None would mean all of them to the service. */
export function isEmptyChoice({ isAll, filters }: EventChoice): boolean {
  return !isAll && filters.length === 0;
}

/** In the order in which they are shown, as the service takes it. */
export function writeChoice({ isAll, filters }: EventChoice): EventFilter[] {
  if (isAll) return [];
  return [...families].flatMap(([family, own]) => {
    const whole = `${family}.*` as EventFilter;
    return filters.includes(whole) ? [whole] : own.filter((type) => filters.includes(type));
  });
}

type Props = {
  value: EventChoice;
  fault: string | undefined;
  set: (value: EventChoice) => void;
};

/** Which events an endpoint gets. */
export function EventTypesField({ value, fault, set }: Props): ReactNode {
  const id = useId();
  return (
    <fieldset className="field event-types" aria-describedby={fault && id}>
      <legend className="label">Events</legend>
      <label className="row">
        <input
          type="checkbox"
          checked={value.isAll}
          onChange={({ target }) => set({ ...value, isAll: target.checked })}
        />
        All events, also of types that are added later
      </label>
      {value.isAll ? null : (
        <div className="event-families">
          {[...families].map(([family, own]) => (
            <Family key={family} family={family} types={own} value={value} set={set} />
          ))}
        </div>
      )}
      {fault === undefined ? null : (
        <span className="fault" id={id}>
          {fault}
        </span>
      )}
    </fieldset>
  );
}

type FamilyProps = Omit<Props, 'fault'> & { family: string; types: readonly EventType[] };

function Family({ family, types: own, value, set }: FamilyProps): ReactNode {
  const { filters } = value;
  const whole = `${family}.*` as EventFilter;
  const isWhole = filters.includes(whole);
  const toggle = (filter: EventFilter, isChosen: boolean): void => {
    const others = filters.filter((one) => one !== filter);
    set({ ...value, filters: isChosen ? [...others, filter] : others });
  };
  return (
    <fieldset className="event-family">
      <legend>
        <label className="row">
          <input
            type="checkbox"
            checked={isWhole}
            onChange={({ target }) => toggle(whole, target.checked)}
          />
          <code>{whole}</code>
        </label>
      </legend>
      {own.map((type) => (
        <label className="row small" key={type}>
          <input
            type="checkbox"
            checked={isWhole || filters.includes(type)}
            disabled={isWhole}
            onChange={({ target }) => toggle(type, target.checked)}
          />
          <code>{type}</code>
        </label>
      ))}
    </fieldset>
  );
}
