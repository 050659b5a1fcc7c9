import { type InputHTMLAttributes, type ReactNode, useId } from 'react';

type FieldProps = {
  label: string;
  hint?: string | undefined;
  fault?: string | undefined;
  isOptional?: boolean;
};

type Described = { id: string; 'aria-describedby': string | undefined; 'aria-invalid': boolean };

type FrameProps = FieldProps & { children: (described: Described) => ReactNode };

/** Label, control, hint and fault, tied together for assistive technology. */
export function Field({ label, hint, fault, isOptional = false, children }: FrameProps): ReactNode {
  const id = useId();
  const notes = [hint === undefined ? '' : `${id}-hint`, fault === undefined ? '' : `${id}-fault`];
  const described = notes.filter((note) => note !== '').join(' ');
  return (
    <div className="field">
      <label htmlFor={id}>
        {label}
        {isOptional ? <span className="faint"> (optional)</span> : null}
      </label>
      {children({
        id,
        'aria-describedby': described === '' ? undefined : described,
        'aria-invalid': fault !== undefined,
      })}
      {fault === undefined ? null : (
        <span className="fault" id={`${id}-fault`}>
          {fault}
        </span>
      )}
      {hint === undefined ? null : (
        <span className="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
    </div>
  );
}

type TextProps = FieldProps &
  Omit<InputHTMLAttributes<HTMLInputElement>, 'value' | 'onChange'> & {
    value: string;
    onText: (text: string) => void;
  };

export function TextField({
  label,
  hint,
  fault,
  isOptional,
  onText,
  ...input
}: TextProps): ReactNode {
  return (
    <Field label={label} hint={hint} fault={fault} isOptional={isOptional ?? false}>
      {(described) => (
        <input
          className="input"
          {...input}
          {...described}
          onChange={(event) => onText(event.target.value)}
        />
      )}
    </Field>
  );
}

export type Choice = { value: string; label: string };

type SelectProps = FieldProps & {
  value: string;
  choices: readonly Choice[];
  onText: (value: string) => void;
};

/** The platform's own list: best on phones, and typing finds an entry everywhere. */
export function SelectField({ value, choices, onText, ...field }: SelectProps): ReactNode {
  return (
    <Field {...field}>
      {(described) => (
        <select
          className="input"
          {...described}
          value={value}
          onChange={(event) => onText(event.target.value)}
        >
          {choices.map((choice) => (
            <option key={choice.value} value={choice.value}>
              {choice.label}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
