import type { ReactNode } from 'react';
import { SelectField, TextField } from '../../ui/field.tsx';
import {
  type DocumentFault,
  faultAt,
  type Members,
  readMembers,
  readText,
  readTexts,
  setMember,
  toCount,
} from '../documents/document.ts';
import { Entry, KeyedField, ListField } from '../documents/fields.tsx';
import { defaults, readWhen } from './words.ts';

type Props = {
  rule: Members;
  /** With places inside the rule. */
  faults: readonly DocumentFault[];
  onRule: (rule: Members) => void;
  onRemove: () => void;
};

/** One rule. Conditions on a balance or a creator are kept, and edited in the document. */
export function RuleForm({ rule, faults, onRule, onRemove }: Props): ReactNode {
  const set = (name: string, value: unknown): void => onRule(setMember(rule, name, value));
  const when = readWhen(rule);
  // A rule without conditions still has the member.
  const setWhen = (next: Members): void => onRule({ ...rule, when: next });
  const name = readText(rule, 'name');
  const whole = faults.find(({ place }) => /^(?:|when|when\.amount)$/.test(place))?.detail;
  return (
    <Entry
      label={`Rule ${name || 'without a name'}`}
      title={<bdi>{name || 'Without a name'}</bdi>}
      removal="Remove the rule"
      fault={whole}
      onRemove={onRemove}
    >
      <div className="fields">
        <TextField
          label="Name"
          value={name}
          fault={faultAt(faults, 'name')}
          onText={(text) => onRule({ ...rule, name: text })}
          maxLength={60}
          autoComplete="off"
        />
        <TextField
          label="Approvers"
          value={readText(rule, 'approvers')}
          placeholder={defaults.approvers}
          fault={faultAt(faults, 'approvers')}
          onText={(text) => set('approvers', toCount(text))}
          inputMode="numeric"
        />
        <TextField
          label="Canceled after hours"
          value={readText(rule, 'expires_hours')}
          placeholder={defaults.hours}
          fault={faultAt(faults, 'expires_hours')}
          onText={(text) => set('expires_hours', toCount(text))}
          inputMode="numeric"
        />
      </div>
      <AmountFields when={when} faults={faults} onWhen={setWhen} />
      <ConditionFields when={when} faults={faults} onWhen={setWhen} />
    </Entry>
  );
}

type WhenProps = {
  when: Members;
  faults: readonly DocumentFault[];
  onWhen: (when: Members) => void;
};

const bounds = [
  { name: 'above', label: 'Amount above' },
  { name: 'at_least', label: 'Amount at least' },
  { name: 'below', label: 'Amount below' },
  { name: 'at_most', label: 'Amount at most' },
] as const;

function AmountFields({ when, faults, onWhen }: WhenProps): ReactNode {
  const amount = readMembers(when, 'amount');
  const currency = readText(amount, 'currency');
  const isBounded = bounds.some(({ name }) => readText(amount, name) !== '');
  const change = (name: string, text: string): void => {
    const next = setMember({ currency: 'USD', ...amount }, name, text.trim());
    const isLeft = bounds.some((bound) => readText(next, bound.name) !== '');
    onWhen(setMember(when, 'amount', isLeft ? next : undefined));
  };
  return (
    <div className="fields">
      {bounds.map(({ name, label }) => (
        <TextField
          key={name}
          label={label}
          value={readText(amount, name)}
          fault={faultAt(faults, `when.amount.${name}`)}
          onText={(text) => change(name, text)}
          inputMode="decimal"
          autoComplete="off"
        />
      ))}
      <TextField
        label="Currency of the amount"
        value={isBounded ? currency : ''}
        placeholder="USD"
        disabled={!isBounded}
        fault={faultAt(faults, 'when.amount.currency')}
        onText={(text) =>
          onWhen({ ...when, amount: { ...amount, currency: text.trim().toUpperCase() } })
        }
        autoComplete="off"
        maxLength={5}
      />
    </div>
  );
}

const lists = [
  { name: 'country', label: 'Countries', hint: 'Such as MEX, BRA' },
  { name: 'delivery_type', label: 'Delivery types', hint: 'Such as BANK_DEPOSIT, CASH_PICKUP' },
  { name: 'source_currency', label: 'Source currencies', hint: 'Such as USD, EUR' },
  { name: 'destination_currency', label: 'Destination currencies', hint: 'Such as MXN' },
  { name: 'rail', label: 'Rails', hint: 'Names of the rails file' },
] as const;

const recipients = [
  { value: '', label: 'Any' },
  { value: 'new', label: 'New: no completed payout' },
  { value: 'known', label: 'Known: a completed payout' },
];

function ConditionFields({ when, faults, onWhen }: WhenProps): ReactNode {
  const set = (name: string, value: unknown): void => onWhen(setMember(when, name, value));
  const metadata = readMembers(when, 'metadata');
  const keyed = Object.fromEntries(
    Object.keys(metadata).map((key) => [key, readTexts(metadata, key)]),
  );
  return (
    <div className="fields">
      {lists.map(({ name, label, hint }) => (
        <ListField
          key={name}
          label={label}
          hint={hint}
          values={readTexts(when, name)}
          fault={faultAt(faults, `when.${name}`)}
          onValues={(values) => set(name, values)}
        />
      ))}
      <SelectField
        label="Recipient"
        value={readText(when, 'recipient')}
        choices={recipients}
        fault={faultAt(faults, 'when.recipient')}
        onText={(text) => set('recipient', text)}
      />
      <KeyedField
        label="Metadata"
        hint="A line for each key, such as team=payroll, sales"
        values={keyed}
        fault={faultAt(faults, 'when.metadata')}
        onValues={(values) => set('metadata', values)}
      />
    </div>
  );
}
