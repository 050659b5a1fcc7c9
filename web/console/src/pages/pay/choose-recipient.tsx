import { useMutation, useQuery } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useDeferredValue, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import type { User } from '../../api/client.ts';
import { useApi } from '../../api/context.tsx';
import { nameUser } from '../../api/names.ts';
import { useCountryChoices } from '../../api/queries.ts';
import { findFault } from '../../ui/faults.ts';
import { SelectField, TextField } from '../../ui/field.tsx';
import { Icon } from '../../ui/icon.tsx';
import { ProblemNotice } from '../../ui/notice.tsx';
import { Foreign } from '../../ui/parts.tsx';

type Props = { onChosen: (user: User) => void };

export function ChooseRecipient({ onChosen }: Props): ReactNode {
  const [isNew, setNew] = useState(false);
  return isNew ? (
    <NewRecipient onChosen={onChosen} onBack={() => setNew(false)} />
  ) : (
    <FindRecipient onChosen={onChosen} onNew={() => setNew(true)} />
  );
}

function FindRecipient({ onChosen, onNew }: Props & { onNew: () => void }): ReactNode {
  const api = useApi();
  const [text, setText] = useState('');
  const name = useDeferredValue(text.trim());
  const filter = name.length >= 3 ? (name.includes('@') ? { email: name } : { name }) : {};
  const { data, error } = useQuery({
    queryKey: [api.account, 'recipients', filter],
    queryFn: () => api.readPage<User>('/user', { ...filter, number_of_records: 8 }),
    placeholderData: (previous) => previous,
  });
  return (
    <div className="stack">
      <div className="find">
        <TextField
          label="Find a recipient"
          type="search"
          placeholder="Name or whole email address"
          value={text}
          onText={setText}
          autoComplete="off"
        />
        <Button className="button" onPress={onNew}>
          <Icon name="plus" />
          New recipient
        </Button>
      </div>
      {error === null ? null : <ProblemNotice error={error} />}
      <ul className="people" aria-label="Recipients">
        {(data?.rows ?? []).map((user) => (
          <li key={user.user_token}>
            <Button
              className="person"
              isDisabled={user.status !== 'ACTIVE'}
              onPress={() => onChosen(user)}
            >
              <span className="clip">
                <Foreign>{nameUser(user)}</Foreign>
              </span>
              <span className="small faint clip">
                {user.country} · <Foreign>{user.email}</Foreign>
                {user.status === 'ACTIVE' ? '' : ' · not active'}
              </span>
            </Button>
          </li>
        ))}
      </ul>
      {data?.rows.length === 0 ? (
        <p className="faint">No recipient found. Create one, or try another part of the name.</p>
      ) : null}
    </div>
  );
}

const fields = [
  { name: 'first_name', label: 'First name', isOptional: false },
  { name: 'last_name', label: 'Last name', isOptional: false },
  { name: 'email', label: 'Email', isOptional: false },
  { name: 'mobile_number', label: 'Mobile number', isOptional: true },
  { name: 'address1', label: 'Address', isOptional: true },
  { name: 'city', label: 'City', isOptional: true },
  { name: 'postal_code', label: 'Postal code', isOptional: true },
] as const;

type FieldName = (typeof fields)[number]['name'];

type Values = Partial<Record<FieldName | 'country' | 'date_of_birth', string>>;

function useCreateUser(onChosen: (user: User) => void) {
  const api = useApi();
  return useMutation({
    mutationFn: async (values: Values) => {
      const present = Object.entries(values).filter(([, text]) => text !== '');
      const { first_name = '', last_name = '', email = '', country = '' } = values;
      const id = `console-${crypto.getRandomValues(new Uint32Array(2)).join('-')}`;
      const required = { first_name, last_name, email, country, internal_user_id: id };
      const { user_token } = await api.createUser({
        body: { ...Object.fromEntries(present), ...required },
      });
      return api.getUser({ user_token });
    },
    onSuccess: onChosen,
  });
}

function NewRecipient({ onChosen, onBack }: Props & { onBack: () => void }): ReactNode {
  const countries = useCountryChoices();
  const [values, setValues] = useState<Values>({});
  const create = useCreateUser(onChosen);
  const bind = (name: keyof Values) => ({
    value: values[name] ?? '',
    fault: findFault(create.error, name),
    onText: (text: string) => setValues({ ...values, [name]: text }),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    create.mutate(values);
  };
  return (
    <form className="stack" onSubmit={submit}>
      {create.error === null ? null : <ProblemNotice error={create.error} />}
      <div className="fields">
        {fields.map(({ name, label, isOptional }) => (
          <TextField
            key={name}
            label={label}
            isOptional={isOptional}
            required={!isOptional}
            autoComplete="off"
            type={name === 'email' ? 'email' : 'text'}
            maxLength={200}
            {...bind(name)}
          />
        ))}
        <SelectField
          label="Country"
          {...bind('country')}
          choices={[{ value: '', label: 'Choose a country' }, ...countries]}
        />
        <TextField label="Date of birth" type="date" isOptional {...bind('date_of_birth')} />
      </div>
      <div className="row">
        <Button
          type="submit"
          className="button primary"
          isDisabled={create.isPending || (values.country ?? '') === ''}
        >
          {create.isPending ? 'Creating' : 'Create and continue'}
        </Button>
        <Button className="button plain" onPress={onBack}>
          Find one instead
        </Button>
      </div>
    </form>
  );
}
