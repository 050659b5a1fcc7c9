import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useDeferredValue, useState } from 'react';
import { accountSearchQuery } from '../api/accounts.ts';
import { useSession } from '../api/context.tsx';
import type { List, OperatorAccount } from '../api/operator-types.ts';
import { useAccountNames } from '../api/queries.ts';
import { formatCount } from '../format/amount.ts';
import { type Choice, SelectField, TextField } from './field.tsx';

type Props = {
  label: string;
  hint?: string | undefined;
  fault?: string | undefined;
  value: string;
  onText: (account: string) => void;
  /** What stands for no account, such as "All accounts"; without it there is no such choice. */
  none?: string;
};

/** An account to choose. Where the session does not list all of them, the service searches by name. */
export function AccountField({ none, ...field }: Props): ReactNode {
  const { session } = useSession();
  const first: Choice[] = none === undefined ? [] : [{ value: '', label: none }];
  if (session.has_more_accounts) return <SearchedAccount {...field} first={first} />;
  const choices = session.accounts.map(({ account: value, name: label }) => ({ value, label }));
  return <SelectField {...field} choices={[...first, ...choices]} />;
}

type SearchedProps = Omit<Props, 'none'> & { first: readonly Choice[] };

function SearchedAccount({ first, hint, ...field }: SearchedProps): ReactNode {
  const { value } = field;
  const { session } = useSession();
  const [text, setText] = useState('');
  const wanted = useDeferredValue(text.trim());
  const { data } = useQuery(accountSearchQuery(session, wanted));
  const nameAccount = useAccountNames([value]);
  const found = (data?.data ?? []).map(({ id, name }) => ({ value: id, label: name }));
  // What is chosen stays, whether the search finds it or not.
  const present = [...first, ...found].some((choice) => choice.value === value)
    ? []
    : [{ value, label: nameAccount(value) }];
  return (
    <>
      <TextField
        label="Find an account"
        type="search"
        placeholder="The beginning of its name"
        value={text}
        onText={setText}
        maxLength={200}
        autoComplete="off"
        spellCheck={false}
      />
      <SelectField
        {...field}
        hint={wanted === '' || data === undefined ? hint : describeFound(data)}
        choices={[...first, ...present, ...found]}
      />
    </>
  );
}

function describeFound({ data, next }: List<OperatorAccount>): string {
  if (data.length === 0) return 'No name begins so';
  if (typeof next === 'string') return 'Many names begin so: write more of it';
  return `${formatCount(data.length)} found: choose from the list`;
}
