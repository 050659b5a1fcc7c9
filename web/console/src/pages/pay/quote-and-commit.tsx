import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { decimal } from '../../../../../sdk/src/decimal.ts';
import type { Payout, User } from '../../api/client.ts';
import { useApi, useSession } from '../../api/context.tsx';
import { nameUser } from '../../api/names.ts';
import { formatRate } from '../../format/amount.ts';
import { formatLength, readTime } from '../../format/time.ts';
import { TextField } from '../../ui/field.tsx';
import { Network } from '../../ui/network.tsx';
import { Notice, ProblemNotice } from '../../ui/notice.tsx';
import { Amount, Foreign, PayoutStatus, Time } from '../../ui/parts.tsx';
import { useNowMs } from '../../ui/use-now.ts';
import { commitOrFind, isOutcomeUnknown, type Result } from './commit.ts';
import type { Choice } from './destinations.ts';

type Props = { user: User; choice: Choice; attributeSet: string };

/** The price, for as long as it holds, and the one button that moves money. */
export function QuoteAndCommit({ user, choice, attributeSet }: Props): ReactNode {
  const api = useApi();
  const [reference, setReference] = useState('');
  const quote = useMutation({
    mutationFn: async () => {
      const { offer, amount, sourceCurrency } = choice;
      const id = reference.trim();
      const asked = Date.now();
      const payout = await api.createPayout({
        user_token: user.user_token,
        body: {
          source_currency_code: sourceCurrency,
          destination_currency_code: offer.currency,
          destination_token: offer.token,
          source_amount: decimal(amount),
          attr_set_token: attributeSet,
          ...(id === '' ? {} : { client_transfer_id: id }),
        },
      });
      return { payout, endsAtMs: asked + lengthOf(payout) };
    },
  });
  if (quote.data === undefined) {
    return (
      <div className="stack">
        {quote.error === null ? null : <ProblemNotice error={quote.error} />}
        <div className="fields">
          <TextField
            label="Your identifier"
            isOptional
            hint="Such as an invoice number. It can be paid once only"
            value={reference}
            onText={setReference}
            maxLength={50}
          />
        </div>
        <div className="row">
          <Button
            className="button primary"
            isDisabled={quote.isPending}
            onPress={() => quote.mutate()}
          >
            {quote.isPending ? 'Getting the quote' : 'Get a quote'}
          </Button>
        </div>
      </div>
    );
  }
  const { payout, endsAtMs } = quote.data;
  return (
    <Quote
      key={payout.payout_token}
      {...{ user, payout, endsAtMs }}
      onAgain={() => quote.mutate()}
    />
  );
}

/** How long it holds by the service's clock, which in staging is not that of this machine. */
function lengthOf({ expiration, created_at: created }: Payout): number {
  return (readTime(expiration)?.getTime() ?? 0) - (readTime(created)?.getTime() ?? 0);
}

type QuoteProps = { user: User; payout: Payout; endsAtMs: number; onAgain: () => void };

function Quote({ user, payout, endsAtMs, onAgain }: QuoteProps): ReactNode {
  const api = useApi();
  const queries = useQueryClient();
  const { environment } = useSession().session;
  const leftSeconds = Math.max(0, Math.floor((endsAtMs - useNowMs()) / 1000));
  const { user_token, payout_token } = payout;
  const [isUnknown, setIsUnknown] = useState(false);
  const commit = useMutation({
    mutationFn: () => commitOrFind(api, { user_token, payout_token }),
    onSuccess: () => setIsUnknown(false),
    onError: (error) => setIsUnknown((wasUnknown) => isOutcomeUnknown(error, wasUnknown)),
    onSettled: () => queries.invalidateQueries({ queryKey: [api.account] }),
  });
  const outcome = commit.data;
  if (outcome !== undefined && 'found' in outcome) return <Found payout={outcome.found} />;
  const answer = outcome?.answer;
  if (answer?.status === 'success') return <Done payout={payout} result={answer} />;
  const isOver = leftSeconds <= 0 || answer?.status === 'ex_rate_expired';
  const words = environment === 'live' ? 'Commit: send real money' : 'Commit';
  return (
    <div className="stack">
      <Terms user={user} payout={payout} />
      {isUnknown ? <Unknown user={user_token} payout={payout_token} /> : null}
      {commit.error === null || isUnknown ? null : <ProblemNotice error={commit.error} />}
      {answer === undefined ? null : <Refused result={answer} />}
      <div className="row">
        {isOver && !isUnknown ? (
          <Button className="button primary large" onPress={onAgain}>
            Get a new quote
          </Button>
        ) : (
          <Button
            className="button primary large"
            isDisabled={commit.isPending}
            onPress={() => commit.mutate()}
          >
            {commit.isPending ? 'Committing' : isUnknown ? 'Look up the outcome' : words}
          </Button>
        )}
        <span className="num soft" role="timer">
          {isOver ? 'The quote has expired' : `The price holds for ${formatLength(leftSeconds)}`}
        </span>
      </div>
    </div>
  );
}

function Terms({ user, payout }: { user: User; payout: Payout }): ReactNode {
  return (
    <dl className="quote">
      <div>
        <dt>Debited from your balance</dt>
        <dd className="big">
          <Amount value={payout.total_debit} currency={payout.source_currency_code} />
        </dd>
        <dd className="small faint">
          of which fee <Amount value={payout.fee} currency={payout.source_currency_code} />
        </dd>
      </div>
      <div>
        <dt>
          <Foreign>{nameUser(user)}</Foreign> gets
        </dt>
        <dd className="big">
          <Amount value={payout.destination_amount} currency={payout.destination_currency_code} />
        </dd>
        {payout.network === '' ? null : (
          <dd>
            <Network name={payout.network} />
          </dd>
        )}
        <dd className="small faint num">
          1 {payout.source_currency_code} = {formatRate(payout.exchange_rate)}{' '}
          {payout.destination_currency_code}
        </dd>
      </div>
      <div>
        <dt>Arrives by (UTC)</dt>
        <dd className="big">
          <Time value={payout.estimated_availability} />
        </dd>
        <dd className="small faint">{payout.payer_name}</dd>
      </div>
    </dl>
  );
}

/** The service may have committed it, and no answer says so. */
function Unknown({ user, payout }: { user: string; payout: string }): ReactNode {
  return (
    <Notice tone="warning" title="The outcome is not known: the payout may be committed">
      <p>
        The service gave no answer. Look up the outcome: it is the same payout and quote, which
        cannot be paid twice. Do not make another payout before you know it. It is also{' '}
        <Link to="/payouts/$user/$payout" params={{ user, payout }}>
          on the page of the payout
        </Link>
        .
      </p>
    </Notice>
  );
}

function Refused({ result }: { result: Result }): ReactNode {
  if (result.status === 'success') return null;
  const { missing: details = [] } = result;
  return (
    <Notice tone="warning" title="Not committed: no money has moved">
      {details.length > 0 ? <p>The payer asks for more than it was given.</p> : null}
      {details.length > 0 ? null : <p>{result.errors}</p>}
      {details.map((missing) => (
        <p key={missing.token + missing.field}>
          {missing.label}: {missing.why}
        </p>
      ))}
      {result.shortfall === undefined ? null : (
        <p>
          The balance lacks{' '}
          <Amount value={result.shortfall.amount} currency={result.shortfall.currency_code} />.
        </p>
      )}
    </Notice>
  );
}

function Done({ payout, result }: { payout: Payout; result: Result }): ReactNode {
  const { user_token: user, payout_token } = payout;
  return (
    <div className="stack" role="status">
      <Notice tone="success" icon="checkCircle" title="Committed">
        <p>
          <Amount value={payout.destination_amount} currency={payout.destination_currency_code} />{' '}
          is on its way by {payout.payer_name}.
        </p>
        {result.pickup_code === '' ? null : (
          <p>
            Pickup code for the recipient: <code>{result.pickup_code}</code>
          </p>
        )}
      </Notice>
      <OpenPayout user={user} payout={payout_token} />
    </div>
  );
}

/** Committed, though no answer said so. */
function Found({ payout }: { payout: Payout }): ReactNode {
  const { user_token: user, payout_token, status } = payout;
  return (
    <div className="stack" role="status">
      <Notice tone="success" icon="checkCircle" title="Committed, although the answer was lost">
        <p>
          The payout was found: <PayoutStatus status={status} />
        </p>
      </Notice>
      <OpenPayout user={user} payout={payout_token} />
    </div>
  );
}

function OpenPayout({ user, payout }: { user: string; payout: string }): ReactNode {
  return (
    <div className="row">
      <Link to="/payouts/$user/$payout" params={{ user, payout }} className="button primary">
        Open the payout and its receipt
      </Link>
    </div>
  );
}
