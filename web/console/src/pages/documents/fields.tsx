import { type ReactNode, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { Field, SelectField, TextField } from '../../ui/field.tsx';
import { type DocumentFault, readDocument, splitList } from './document.ts';
import './documents.css';

type FieldProps = { label: string; hint?: string | undefined; fault?: string | undefined };

type AreaProps = FieldProps & { value: string; rows: number; onText: (text: string) => void };

/** A text of several lines, in letters of equal width. */
function TextArea({ value, rows, onText, ...field }: AreaProps): ReactNode {
  return (
    <Field {...field}>
      {(described) => (
        <textarea
          className="input mono area"
          {...described}
          rows={rows}
          value={value}
          spellCheck={false}
          autoComplete="off"
          onChange={(event) => onText(event.target.value)}
        />
      )}
    </Field>
  );
}

type ListProps = FieldProps & {
  values: readonly string[];
  onValues: (values: string[]) => void;
};

/** Values between commas. What is typed stays as it is while it means the same as the document. */
export function ListField({ values, onValues, ...field }: ListProps): ReactNode {
  const [typed, setTyped] = useState('');
  const isSame = splitList(typed).join('\n') === values.join('\n');
  return (
    <TextField
      {...field}
      isOptional
      value={isSame ? typed : values.join(', ')}
      onText={(text) => {
        setTyped(text);
        onValues(splitList(text));
      }}
      autoComplete="off"
      spellCheck={false}
    />
  );
}

/** By key, its values. */
export type Keyed = Readonly<Record<string, readonly string[]>>;

type KeyedProps = FieldProps & { values: Keyed; onValues: (values: Keyed) => void };

const writeKeyed = (values: Keyed): string =>
  Object.entries(values)
    .map(([key, texts]) => `${key}=${texts.join(', ')}`)
    .join('\n');

function readKeyed(text: string): Keyed {
  const lines = text.split('\n').flatMap((line): [string, string[]][] => {
    const at = line.indexOf('=');
    const values = splitList(line.slice(at + 1));
    return at < 1 || values.length === 0 ? [] : [[line.slice(0, at).trim(), values]];
  });
  return Object.fromEntries(lines);
}

/** One key in each line, `key=value, value`. */
export function KeyedField({ values, onValues, ...field }: KeyedProps): ReactNode {
  const [typed, setTyped] = useState('');
  const isSame = writeKeyed(readKeyed(typed)) === writeKeyed(values);
  return (
    <TextArea
      {...field}
      rows={2}
      value={isSame ? typed : writeKeyed(values)}
      onText={(text) => {
        setTyped(text);
        onValues(readKeyed(text));
      }}
    />
  );
}

type PeriodProps = { label: string; days: string; onDays: (days: string) => void };

const periods = ['7', '30', '90', '366'].map((value) => ({ value, label: `${value} days` }));

export function PeriodField({ label, days, onDays }: PeriodProps): ReactNode {
  return <SelectField label={label} value={days} onText={onDays} choices={periods} />;
}

type EntryProps = {
  label: string;
  title: ReactNode;
  removal: string;
  /** About the whole entry. */
  fault: string | undefined;
  onRemove: () => void;
  children: ReactNode;
};

/** One entry of a list in a document, as a form. */
export function Entry({ label, title, removal, fault, onRemove, children }: EntryProps): ReactNode {
  return (
    <section className="entry" aria-label={label}>
      <div className="row between">
        <h3>{title}</h3>
        <Button className="button plain" onPress={onRemove}>
          {removal}
        </Button>
      </div>
      {fault === undefined ? null : (
        <div className="field">
          <span className="fault">{fault}</span>
        </div>
      )}
      {children}
    </section>
  );
}

type DocumentProps = {
  text: string;
  hint: string;
  rows: number;
  /** Those that stand at no form. */
  faults: readonly DocumentFault[];
  onText: (text: string) => void;
  /** The forms. */
  children: ReactNode;
};

/** Forms, and beside them the same as a document. */
export function DocumentFields({ text, faults, children, ...area }: DocumentProps): ReactNode {
  const sentences = faults.map(({ place, detail }) =>
    place === '' ? detail : `${place}: ${detail}`,
  );
  const fault =
    readDocument(text) === undefined
      ? 'This is not a JSON object'
      : sentences.join(' ') || undefined;
  return (
    <div className="document">
      <div className="stack">{children}</div>
      <TextArea label="Document" value={text} fault={fault} {...area} />
    </div>
  );
}
