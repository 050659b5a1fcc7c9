import type { ReactNode } from 'react';
import { Button } from 'react-aria-components/Button';
import { SelectField } from '../../ui/field.tsx';
import {
  type DocumentFault,
  faultAt,
  faultsWithin,
  type Members,
  readDocument,
  readEntries,
  readMembers,
  readText,
  setMember,
  writeDocument,
} from '../documents/document.ts';
import { DocumentFields } from '../documents/fields.tsx';
import { type EntryProps, PayerChange, RailChange } from './change-forms.tsx';

type Props = {
  text: string;
  rails: readonly string[];
  faults: readonly DocumentFault[];
  onText: (text: string) => void;
};

const chooses = [
  { value: 'named', label: 'The payer that the client named' },
  { value: 'cheapest', label: 'The cheapest for the sender' },
  { value: 'best_score', label: 'The best score' },
];

const substitutes = [
  { value: 'equivalent', label: 'Payers of the same name' },
  { value: 'service', label: 'Any payer of the same service' },
  { value: 'none', label: 'None' },
];

/** The changes as forms, and beside them the same as a document. */
export function ChangesFields({ text, rails, faults, onText }: Props): ReactNode {
  const changes = readDocument(text);
  return (
    <DocumentFields
      text={text}
      hint="The same as JSON, with the names of the rails file"
      rows={18}
      faults={faults.filter(({ place }) => !/^(?:rails|payers)\.\d/.test(place))}
      onText={onText}
    >
      {changes === undefined ? (
        <p className="soft">The document is not JSON. Correct it to use the form again.</p>
      ) : (
        <ChangeForms
          changes={changes}
          rails={rails}
          faults={faults}
          onChanges={(next) => onText(writeDocument(next))}
        />
      )}
    </DocumentFields>
  );
}

type FormsProps = {
  changes: Members;
  rails: readonly string[];
  faults: readonly DocumentFault[];
  onChanges: (changes: Members) => void;
};

function ChangeForms({ changes, rails, faults, onChanges }: FormsProps): ReactNode {
  const [first = ''] = rails;
  const list = (name: 'rails' | 'payers', form: (props: EntryProps) => ReactNode): ReactNode => {
    const entries = readEntries(changes, name);
    if (entries === undefined) return <p className="soft">{name} is not a list of changes.</p>;
    const write = (next: readonly Members[]): void => onChanges(setMember(changes, name, next));
    const Form = form;
    return (
      <>
        {entries.map((entry, index) => (
          <Form
            // Changes have no identity but their place.
            key={`${name} ${String(index)}`}
            entry={entry}
            rails={rails}
            faults={faultsWithin(faults, `${name}.${index}`)}
            onEntry={(changed) => write(entries.with(index, changed))}
            onRemove={() => write(entries.toSpliced(index, 1))}
          />
        ))}
      </>
    );
  };
  const add = (name: 'rails' | 'payers', entry: Members): void =>
    onChanges({ ...changes, [name]: [...(readEntries(changes, name) ?? []), entry] });
  return (
    <>
      <RoutingFields changes={changes} faults={faults} onChanges={onChanges} />
      {list('rails', RailChange)}
      {list('payers', PayerChange)}
      <div className="row">
        <Button
          className="button"
          isDisabled={first === ''}
          onPress={() => add('rails', { rail: first, offered: false })}
        >
          Switch a rail off
        </Button>
        <Button
          className="button"
          isDisabled={first === ''}
          onPress={() => add('payers', { rail: first })}
        >
          Change a payer
        </Button>
      </div>
    </>
  );
}

function RoutingFields({ changes, faults, onChanges }: Omit<FormsProps, 'rails'>): ReactNode {
  const routing = readMembers(changes, 'routing');
  const choose = readText(routing, 'choose') || 'named';
  const set = (name: string, text: string, usual: string): void => {
    const next = setMember(routing, name, text === usual ? undefined : text);
    onChanges(setMember(changes, 'routing', next));
  };
  return (
    <div className="fields">
      <SelectField
        label="Who gets a payout"
        value={choose}
        choices={chooses}
        fault={faultAt(faults, 'routing.choose')}
        onText={(text) => set('choose', text, 'named')}
      />
      {choose === 'named' ? (
        <SelectField
          label="Who takes over"
          value={readText(routing, 'substitute') || 'equivalent'}
          choices={substitutes}
          fault={faultAt(faults, 'routing.substitute')}
          onText={(text) => set('substitute', text, 'equivalent')}
        />
      ) : null}
    </div>
  );
}
