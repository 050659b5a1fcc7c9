import { Link, useNavigate } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useState } from 'react';
import { useCountryChoices } from '../api/queries.ts';
import { deliveryChoices, describeStatus, payoutStatuses } from '../format/words.ts';
import { SelectField, TextField } from '../ui/field.tsx';
import { isSameSearch, type PayoutSearch } from './payout-search.ts';
import { SavedViews } from './payout-views.tsx';

const views: readonly { label: string; search: PayoutSearch }[] = [
  { label: 'All', search: {} },
  { label: 'On hold', search: { status: 'HOLD' } },
  { label: 'Needs a decision', search: { status: 'ERROR' } },
  { label: 'Processing', search: { status: 'PROCESSING' } },
  { label: 'Scheduled', search: { status: 'SCHEDULED' } },
  { label: 'Completed', search: { status: 'COMPLETED' } },
  { label: 'Canceled', search: { status: 'CANCELLED' } },
];

/** Views and filters. Each change is a new address, so the browser's back button undoes it. */
export function PayoutFilterBar({ search }: { search: PayoutSearch }): ReactNode {
  const navigate = useNavigate();
  const { cursor: _page, ...withoutCursor } = search;
  const countries = useCountryChoices();
  const set = (change: PayoutSearch): void => {
    const { cursor: _cursor, ...kept } = { ...search, ...change };
    const present = Object.entries(kept).filter(([, value]) => value !== '');
    void navigate({ to: '/payouts', search: Object.fromEntries(present) });
  };
  return (
    <>
      <nav className="tabs" aria-label="Views">
        {views.map((view) => (
          <Link
            key={view.label}
            to="/payouts"
            search={view.search}
            data-current={isSameSearch(view.search, withoutCursor)}
          >
            {view.label}
          </Link>
        ))}
        <SavedViews search={search} />
      </nav>
      <div className="filters">
        <SearchBox key={search.q ?? ''} text={search.q ?? ''} onSearch={(q) => set({ q })} />
        <SelectField
          label="Status"
          value={search.status ?? ''}
          onText={(status) => set({ status })}
          choices={[
            { value: '', label: 'Any' },
            ...payoutStatuses.map((value) => ({ value, label: describeStatus(value).label })),
          ]}
        />
        <SelectField
          label="Country"
          value={search.country ?? ''}
          onText={(country) => set({ country })}
          choices={[{ value: '', label: 'Any' }, ...countries]}
        />
        <SelectField
          label="Delivery"
          value={search.delivery ?? ''}
          onText={(delivery) => set({ delivery })}
          choices={deliveryChoices}
        />
        <TextField
          label="From"
          type="date"
          value={search.from ?? ''}
          onText={(from) => set({ from })}
        />
        <TextField label="To" type="date" value={search.to ?? ''} onText={(to) => set({ to })} />
      </div>
    </>
  );
}

function SearchBox({ text, onSearch }: { text: string; onSearch: (q: string) => void }): ReactNode {
  const [value, setValue] = useState(text);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    onSearch(value.trim());
  };
  return (
    <form role="search" onSubmit={submit} className="field">
      <TextField
        label="Search"
        type="search"
        placeholder="Token, your identifier, name, key=value"
        value={value}
        onText={setValue}
        maxLength={150}
        onBlur={() => {
          if (value.trim() !== text) onSearch(value.trim());
        }}
      />
    </form>
  );
}
