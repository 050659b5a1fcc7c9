import type { ReactNode } from 'react';
import { deliveryChoices } from '../../format/words.ts';
import { SelectField, TextField } from '../../ui/field.tsx';
import {
  type DocumentFault,
  faultAt,
  isMembers,
  type Members,
  readText,
  setMember,
  toCount,
} from '../documents/document.ts';
import { Entry } from '../documents/fields.tsx';

export type EntryProps = {
  entry: Members;
  /** Names of the configured rails. */
  rails: readonly string[];
  /** With places inside the entry. */
  faults: readonly DocumentFault[];
  onEntry: (entry: Members) => void;
  onRemove: () => void;
};

const offers = [
  { value: '', label: 'As it is' },
  { value: 'false', label: 'Off' },
  { value: 'true', label: 'On' },
];

const readOffer = (text: string): boolean | undefined =>
  text === '' ? undefined : text === 'true';

function RailField({ entry, rails, faults, onEntry }: Omit<EntryProps, 'onRemove'>): ReactNode {
  const rail = readText(entry, 'rail');
  const names = rails.includes(rail) ? rails : [rail, ...rails];
  return (
    <SelectField
      label="Rail"
      value={rail}
      choices={names.map((value) => ({ value, label: value === '' ? 'Choose' : value }))}
      fault={faultAt(faults, 'rail')}
      onText={(text) => onEntry({ ...entry, rail: text })}
    />
  );
}

function OfferField({ entry, faults, onEntry }: Omit<EntryProps, 'onRemove' | 'rails'>): ReactNode {
  return (
    <SelectField
      label="Offered"
      value={readText(entry, 'offered')}
      choices={offers}
      fault={faultAt(faults, 'offered')}
      onText={(text) => onEntry(setMember(entry, 'offered', readOffer(text)))}
    />
  );
}

type FrameProps = Pick<EntryProps, 'faults' | 'onRemove'> & { title: string; children: ReactNode };

function Frame({ title, faults, ...frame }: FrameProps): ReactNode {
  const whole = faults.find(({ place }) => place === '')?.detail;
  return <Entry label={title} title={title} removal="Remove the change" fault={whole} {...frame} />;
}

export function RailChange({ onRemove, ...entry }: EntryProps): ReactNode {
  const name = readText(entry.entry, 'rail');
  return (
    <Frame title={`Rail ${name}`} faults={entry.faults} onRemove={onRemove}>
      <div className="fields">
        <RailField {...entry} />
        <OfferField {...entry} />
      </div>
    </Frame>
  );
}

const texts = [
  { name: 'minLimit', label: 'Minimum (USD)' },
  { name: 'maxLimit', label: 'Maximum (USD)' },
] as const;

/** Changes of the payers of a rail that fit key, country and delivery type. */
export function PayerChange({ onRemove, ...props }: EntryProps): ReactNode {
  const { entry, faults, onEntry } = props;
  const set = (name: string, value: unknown): void => onEntry(setMember(entry, name, value));
  const title = `Payer ${readText(entry, 'rail')}/${readText(entry, 'payer') || 'any'}`;
  return (
    <Frame title={title} faults={faults} onRemove={onRemove}>
      <div className="fields">
        <RailField {...props} />
        <TextField
          label="Payer"
          hint="Its key; empty: any"
          value={readText(entry, 'payer')}
          fault={faultAt(faults, 'payer')}
          onText={(text) => set('payer', text.trim())}
          autoComplete="off"
          spellCheck={false}
        />
        <TextField
          label="Country"
          hint="Such as MEX; empty: any"
          value={readText(entry, 'countryCode')}
          fault={faultAt(faults, 'countryCode')}
          onText={(text) => set('countryCode', text.trim().toUpperCase())}
          maxLength={3}
          autoComplete="off"
        />
        <SelectField
          label="Delivery"
          value={readText(entry, 'deliveryType')}
          choices={deliveryChoices}
          fault={faultAt(faults, 'deliveryType')}
          onText={(text) => set('deliveryType', text)}
        />
      </div>
      <div className="fields">
        <OfferField {...props} />
        <FeeFields entry={entry} faults={faults} onEntry={onEntry} />
        <TextField
          label="Margin (basis points)"
          value={readText(entry, 'marginBasisPoints')}
          fault={faultAt(faults, 'marginBasisPoints')}
          onText={(text) => set('marginBasisPoints', toCount(text))}
          inputMode="numeric"
          autoComplete="off"
        />
        {texts.map(({ name, label }) => (
          <TextField
            key={name}
            label={label}
            value={readText(entry, name)}
            fault={faultAt(faults, name)}
            onText={(text) => set(name, text.trim())}
            inputMode="decimal"
            autoComplete="off"
          />
        ))}
      </div>
    </Frame>
  );
}

/** One step for all amounts; fees of several steps are edited in the document. */
function FeeFields({ entry, faults, onEntry }: Omit<EntryProps, 'onRemove' | 'rails'>): ReactNode {
  const steps = Array.isArray(entry['fee']) ? entry['fee'] : [];
  const [first] = steps.filter(isMembers);
  if (steps.length > 1)
    return <p className="small soft">The fee has several steps: see the document.</p>;
  const change = (name: 'fixed' | 'basisPoints', text: string): void => {
    const fixed = name === 'fixed' ? text.trim() : readText(first ?? {}, 'fixed');
    const points = name === 'basisPoints' ? text : readText(first ?? {}, 'basisPoints');
    const isEmpty = name === 'fixed' ? fixed === '' : fixed === '' && points === '';
    const step = { upTo: null, fixed: fixed || '0', basisPoints: toCount(points || '0') };
    onEntry(setMember(entry, 'fee', isEmpty ? undefined : [step]));
  };
  return (
    <>
      <TextField
        label="Fixed fee (USD)"
        hint="Empty: the fee as it is"
        value={readText(first ?? {}, 'fixed')}
        fault={faultAt(faults, 'fee')}
        onText={(text) => change('fixed', text)}
        inputMode="decimal"
        autoComplete="off"
      />
      <TextField
        label="Fee (basis points)"
        value={readText(first ?? {}, 'basisPoints')}
        onText={(text) => change('basisPoints', text)}
        inputMode="numeric"
        autoComplete="off"
      />
    </>
  );
}
