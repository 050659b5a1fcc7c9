import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import type { User } from '../api/client.ts';
import { useApi } from '../api/context.tsx';
import { nameUser } from '../api/names.ts';
import { useMay } from '../api/operator.ts';
import { balancesQuery } from '../api/queries.ts';
import { heads } from '../shell/heads.ts';
import { Notice } from '../ui/notice.tsx';
import { Amount, Foreign, PageHead } from '../ui/parts.tsx';
import { Together } from '../ui/together.tsx';
import { ChooseDestination } from './pay/choose-destination.tsx';
import { ChooseRecipient } from './pay/choose-recipient.tsx';
import type { Choice } from './pay/destinations.ts';
import { EnterDetails } from './pay/enter-details.tsx';
import { QuoteAndCommit } from './pay/quote-and-commit.tsx';
import './new-payout.css';

/** From a recipient to a committed payout, step by step; each step can be gone back to. */
export function NewPayout(): ReactNode {
  if (!useMay('operate')) return <NotAllowed />;
  return (
    <>
      <PageHead {...heads['new-payout']} />
      <Together>
        <Steps />
      </Together>
    </>
  );
}

function Steps(): ReactNode {
  const { data: balances } = useQuery(balancesQuery(useApi()));
  const [user, setUser] = useState<User | undefined>();
  const [choice, setChoice] = useState<Choice | undefined>();
  const [attributeSet, setAttributeSet] = useState<string | undefined>();
  return (
    <div className="steps">
      <Step
        number={1}
        title="Recipient"
        summary={user === undefined ? undefined : <Foreign>{nameUser(user)}</Foreign>}
        onChange={() => {
          setUser(undefined);
          setChoice(undefined);
          setAttributeSet(undefined);
        }}
      >
        <ChooseRecipient onChosen={setUser} />
      </Step>
      {user === undefined ? (
        <Waiting number={2} title="Destination" />
      ) : (
        <Step
          number={2}
          title="Destination"
          summary={choice === undefined ? undefined : <ChoiceSummary choice={choice} />}
          onChange={() => {
            setChoice(undefined);
            setAttributeSet(undefined);
          }}
        >
          <ChooseDestination user={user} balances={balances ?? []} onChosen={setChoice} />
        </Step>
      )}
      {user === undefined || choice === undefined ? (
        <Waiting number={3} title="Details" />
      ) : (
        <Step
          number={3}
          title="Details"
          summary={attributeSet === undefined ? undefined : 'Complete'}
          onChange={() => setAttributeSet(undefined)}
        >
          <EnterDetails user={user} choice={choice} onStored={setAttributeSet} />
        </Step>
      )}
      {user === undefined || choice === undefined || attributeSet === undefined ? (
        <Waiting number={4} title="Quote and commit" />
      ) : (
        <Step number={4} title="Quote and commit" summary={undefined} onChange={() => undefined}>
          <QuoteAndCommit user={user} choice={choice} attributeSet={attributeSet} />
        </Step>
      )}
    </div>
  );
}

function ChoiceSummary({ choice }: { choice: Choice }): ReactNode {
  const { offer, sourceCurrency } = choice;
  return (
    <>
      {offer.payerName}, <Amount value={choice.amount} currency={sourceCurrency} />
    </>
  );
}

function NotAllowed(): ReactNode {
  return (
    <>
      <PageHead title="New payout" />
      <Notice tone="warning" title="Your role does not make payouts">
        <p>Ask an owner to give you the role of an operator.</p>
      </Notice>
    </>
  );
}

type StepProps = {
  number: number;
  title: string;
  /** Of a step that is done; without it the step is open. */
  summary: ReactNode | undefined;
  onChange: () => void;
  children: ReactNode;
};

function Step({ number, title, summary, onChange, children }: StepProps): ReactNode {
  const isDone = summary !== undefined;
  return (
    <section className="panel step" data-state={isDone ? 'done' : 'open'} aria-label={title}>
      <header>
        <h2>
          <span className="number" aria-hidden="true">
            {isDone ? '✓' : number}
          </span>
          {title}
        </h2>
        {isDone ? (
          <span className="row done">
            <span className="clip">{summary}</span>
            <Button className="button plain" onPress={onChange}>
              Change <span className="visually-hidden">{title.toLowerCase()}</span>
            </Button>
          </span>
        ) : null}
      </header>
      {isDone ? null : <div className="body">{children}</div>}
    </section>
  );
}

function Waiting({ number, title }: { number: number; title: string }): ReactNode {
  return (
    <section className="panel step" data-state="waiting" aria-label={title}>
      <header>
        <h2>
          <span className="number" aria-hidden="true">
            {number}
          </span>
          {title}
        </h2>
      </header>
    </section>
  );
}
