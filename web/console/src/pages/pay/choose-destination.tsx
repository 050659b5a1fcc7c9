import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useDeferredValue, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { Radio, RadioGroup } from 'react-aria-components/RadioGroup';
import { decimal } from '../../../../../sdk/src/decimal.ts';
import type { Schemas, User } from '../../api/client.ts';
import { useApi } from '../../api/context.tsx';
import { countriesQuery } from '../../api/queries.ts';
import { describeAmountFault, formatAmount, formatRate, readAmount } from '../../format/amount.ts';
import { formatTime } from '../../format/time.ts';
import { nameOffer } from '../../format/words.ts';
import { SelectField, TextField } from '../../ui/field.tsx';
import { Network } from '../../ui/network.tsx';
import { ProblemNotice } from '../../ui/notice.tsx';
import { Amount, Empty, Skeleton, Tag } from '../../ui/parts.tsx';
import { type Choice, findBest, listOffers, type Offer } from './destinations.ts';

type Balance = Schemas['Balance'];
type Props = {
  user: User;
  balances: readonly Balance[];
  onChosen: (choice: Choice) => void;
};

type Asked = { country: string; source: string; text: string };

/** What each payer costs, brings and takes, side by side. */
export function ChooseDestination({ user, balances, onChosen }: Props): ReactNode {
  const [asked, setAsked] = useState<Asked>({ country: user.country, source: 'USD', text: '100' });
  const [currency, setCurrency] = useState('');
  const [key, setKey] = useState('');
  const amount = readAmount(asked.text);
  const { all, shown, offers, currencies, error } = useOffers({ ...asked, amount, currency });
  const chosen = offers.find((offer) => offer.key === key);
  const proceed = (): void => {
    if (chosen === undefined || amount === undefined) return;
    onChosen({ offer: chosen, amount, sourceCurrency: asked.source, country: asked.country });
  };
  return (
    <div className="stack">
      <div className="fields">
        <AskedFields asked={asked} balances={balances} onAsked={setAsked} />
        <SelectField
          label="Recipient gets"
          value={shown}
          onText={setCurrency}
          choices={currencies.map((value) => ({ value, label: value }))}
        />
      </div>
      {error === null ? null : <ProblemNotice error={error} />}
      {all === undefined && error === null ? <Skeleton height={220} /> : null}
      {all?.length === 0 ? (
        <Empty icon="globe" title="No payer serves this amount here">
          Try another country or amount. Limits differ by payer.
        </Empty>
      ) : null}
      {offers.length === 0 ? null : (
        <Offers offers={offers} source={asked.source} value={key} onChange={setKey} />
      )}
      <div className="row">
        <Button
          className="button primary"
          isDisabled={chosen === undefined || amount === undefined}
          onPress={proceed}
        >
          Continue
        </Button>
        {chosen === undefined ? <span className="small faint">Choose a payer</span> : null}
      </div>
    </div>
  );
}

type Question = Asked & { amount: string | undefined; currency: string };

/** The offers of the look-up in the chosen currency, else in that of the country. */
function useOffers({ country, source, amount, currency }: Question) {
  const api = useApi();
  const { data: countries = [] } = useQuery(countriesQuery(api));
  const deferred = useDeferredValue(amount);
  const { data: all, error } = useQuery({
    queryKey: [api.account, 'destinations', country, source, deferred],
    enabled: deferred !== undefined && country !== '',
    queryFn: () =>
      api.listDestinations({
        country_code: country,
        source_currency: source,
        amount: decimal(deferred ?? '0'),
      }),
    select: listOffers,
    placeholderData: (previous) => previous,
  });
  const currencies = [...new Set((all ?? []).map((offer) => offer.currency))];
  const local = countries.find((entry) => entry.country_code === country)?.currencies[0] ?? '';
  const shown = [currency, local].find((code) => currencies.includes(code)) ?? currencies[0] ?? '';
  const offers = (all ?? []).filter((offer) => offer.currency === shown);
  return { all, shown, offers, currencies, error };
}

type AskedProps = {
  asked: Asked;
  balances: readonly Balance[];
  onAsked: (asked: Asked) => void;
};

function AskedFields({ asked, balances, onAsked }: AskedProps): ReactNode {
  const { data: countries = [] } = useQuery(countriesQuery(useApi()));
  return (
    <>
      <SelectField
        label="Country"
        value={asked.country}
        onText={(country) => onAsked({ ...asked, country })}
        choices={countries.map((entry) => ({
          value: entry.country_code,
          label: entry.country_name,
        }))}
      />
      <TextField
        label="Amount to send, before the fee"
        inputMode="decimal"
        value={asked.text}
        onText={(text) => onAsked({ ...asked, text })}
        autoComplete="off"
        fault={describeAmountFault(asked.text)}
      />
      <SelectField
        label="From the balance"
        value={asked.source}
        onText={(source) => onAsked({ ...asked, source })}
        choices={listBalances(balances)}
      />
    </>
  );
}

function listBalances(balances: readonly Balance[]): { value: string; label: string }[] {
  if (balances.length === 0) return [{ value: 'USD', label: 'USD' }];
  return balances.map(({ currency_code: code, balance }) => ({
    value: code,
    label: `${code} (${formatAmount(balance, code)} available)`,
  }));
}

type OffersProps = {
  offers: readonly Offer[];
  source: string;
  value: string;
  onChange: (key: string) => void;
};

function Offers({ offers, source, value, onChange }: OffersProps): ReactNode {
  const { cheapest, fastest } = findBest(offers);
  return (
    <RadioGroup className="offers" aria-label="Payers" value={value} onChange={onChange}>
      {offers.map((offer) => (
        <Radio key={offer.key} value={offer.key} className="offer" isDisabled={offer.isOutOfLimits}>
          <span className="dot" aria-hidden="true" />
          <span className="who">
            <span className="row">
              <strong>{offer.payerName}</strong>
              {offer.key === cheapest ? <Tag tone="success">Cheapest</Tag> : null}
              {offer.key === fastest ? <Tag tone="progress">Fastest</Tag> : null}
              {offer.isOutOfLimits ? <Tag tone="warning">Outside its limits</Tag> : null}
            </span>
            <span className="small faint">
              {nameOffer(offer.delivery, offer.accountForm)} · {offer.companyName} ·{' '}
              {offer.rating > 0 ? `rated ${offer.rating.toFixed(1)} of 5` : 'unrated'}
            </span>
          </span>
          <Column title="Arrives">
            <Amount value={offer.arrives} currency={offer.currency} />
            <Network name={offer.network} />
          </Column>
          <Column title="Costs you">
            <Amount value={offer.totalDebit} currency={source} />
          </Column>
          <Column title="Fee">
            <Amount value={offer.fee} currency={source} />
          </Column>
          <Column title="Rate">
            <span className="num">{formatRate(offer.rate)}</span>
          </Column>
          <Column title="By (UTC)">
            <span className="num">{formatTime(offer.availableAt)}</span>
          </Column>
        </Radio>
      ))}
    </RadioGroup>
  );
}

function Column({ title, children }: { title: string; children: ReactNode }): ReactNode {
  return (
    <span className="column">
      <span className="small faint">{title}</span>
      {children}
    </span>
  );
}
