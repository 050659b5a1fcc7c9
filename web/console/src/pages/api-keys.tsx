import type { ReactNode } from 'react';
import { useSession } from '../api/context.tsx';
import { useMay, useOperator } from '../api/operator.ts';
import type { Budget, Credential, List } from '../api/operator-types.ts';
import { useServiceNowMs } from '../api/service-clock.ts';
import { heads } from '../shell/heads.ts';
import { Act, type ActField, showSecrets } from '../ui/act.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { ActiveTag, Amount, Copy, PageHead, Panel, Tag, Time } from '../ui/parts.tsx';
import { actionsColumn, type Column, Table } from '../ui/table.tsx';

/** Credentials of the chosen account: API keys and clients of OAuth. */
export function ApiKeys(): ReactNode {
  const { account } = useSession();
  const mayOperate = useMay('operate');
  const asked = useOperator<List<Credential>>(`accounts/${account}/credentials`);
  return (
    <>
      <PageHead {...heads['api-keys']}>{mayOperate ? <Create account={account} /> : null}</PageHead>
      <Loaded query={asked}>
        {({ data }) => (
          <Panel title="Credentials" isFlush>
            <Table
              label="Table of credentials"
              columns={mayOperate ? [...columns, actionsOf(account)] : columns}
              rows={data.toReversed()}
              keyOf={({ id }) => id}
            />
          </Panel>
        )}
      </Loaded>
    </>
  );
}

const kinds: Readonly<Record<string, string>> = { api_key: 'API key', client: 'OAuth client' };

const columns: readonly Column<Credential>[] = [
  {
    head: 'Credential',
    cell: ({ id, kind }) => (
      <>
        <span>{kinds[kind] ?? kind}</span>
        <br />
        <Copy value={id} label="credential" />
      </>
    ),
  },
  { head: 'State', cell: (row) => <State credential={row} /> },
  {
    head: 'Scopes',
    cell: ({ scopes }) => (
      <details className="details small">
        <summary>{scopes.length} scopes</summary>
        {scopes.join(', ')}
      </details>
    ),
  },
  { head: 'May propose', cell: ({ budgets, scopes }) => <Budgets {...{ budgets, scopes }} /> },
  { head: 'Created (UTC)', cell: (row) => <Time value={row.created_at} /> },
];

/** Credentials expire by the service's clock. */
function useIsOver({ revoked_at: revokedAt, expires_at: expiresAt }: Credential): boolean {
  const nowMs = useServiceNowMs();
  if (revokedAt !== null) return true;
  return expiresAt !== null && nowMs !== undefined && Date.parse(expiresAt) < nowMs;
}

function State({ credential }: { credential: Credential }): ReactNode {
  const { revoked_at: revokedAt, expires_at: expiresAt, replaced_by: next } = credential;
  const isOver = useIsOver(credential);
  if (revokedAt !== null) {
    return (
      <Tag icon="cancel">
        Revoked <Time value={revokedAt} />
      </Tag>
    );
  }
  if (expiresAt === null) {
    return <ActiveTag />;
  }
  return (
    <Tag tone={next === null ? 'neutral' : 'warning'} icon="clock">
      {isOver ? 'Expired' : next === null ? 'Until' : 'Replaced, until'} <Time value={expiresAt} />
    </Tag>
  );
}

function Budgets({ budgets, scopes }: Pick<Credential, 'budgets' | 'scopes'>): ReactNode {
  if (!scopes.includes('payouts:propose')) return <span className="faint">Nothing</span>;
  if (budgets.length === 0) return 'Any amount';
  return budgets.map((budget) => (
    <span key={budget.currency} className="clip small">
      <BudgetText budget={budget} />
    </span>
  ));
}

function BudgetText({ budget }: { budget: Budget }): ReactNode {
  const { currency, per_proposal: each, per_day: day, open_max: open } = budget;
  return (
    <>
      {each === null ? `Any amount in ${currency}` : <Amount value={each} currency={currency} />}
      {day === null ? null : (
        <>
          , <Amount value={day} currency={currency} /> a day
        </>
      )}
      , {open} open
    </>
  );
}

const actionsOf = (account: string): Column<Credential> =>
  actionsColumn((credential) => <Actions account={account} credential={credential} />);

const secrets = {
  api_key: 'API key',
  client_id: 'Client id',
  client_secret: 'Client secret',
};

type ActionsProps = { account: string; credential: Credential };

function Actions({ account, credential }: ActionsProps): ReactNode {
  const path = `accounts/${account}/credentials/${credential.id}`;
  if (useIsOver(credential)) return null;
  return (
    <div className="row end">
      {credential.scopes.includes('payouts:propose') ? <SetBudget path={path} /> : null}
      {credential.replaced_by === null ? (
        <Act
          label="Rotate"
          title="Replace the secret"
          fields={[
            {
              name: 'overlap',
              label: 'How long the old one stays valid',
              hint: 'Such as 90m, 2h or 3d',
              initial: '1d',
            },
          ]}
          request={{ path: `${path}/rotation` }}
          outcome={showSecrets(secrets)}
        >
          <p>A credential with the same scopes, addresses and budgets takes its place.</p>
        </Act>
      ) : null}
      <Act
        label="Revoke"
        tone="danger"
        title="Revoke the credential"
        request={{ path: `${path}/revoke` }}
      >
        <p>Requests with it are refused within a second. This cannot be undone.</p>
      </Act>
    </div>
  );
}

const budgetFields: readonly ActField[] = [
  { name: 'currency', label: 'Currency', initial: 'USD' },
  {
    name: 'per_proposal',
    label: 'Maximum per proposal, fee included',
    isOptional: true,
    inputMode: 'decimal',
  },
  {
    name: 'per_day',
    label: 'Maximum of confirmed proposals per day (UTC)',
    isOptional: true,
    inputMode: 'decimal',
  },
  { name: 'open', label: 'Open proposals', isOptional: true, inputMode: 'numeric', initial: '10' },
];

function SetBudget({ path }: { path: string }): ReactNode {
  return (
    <Act
      label="Budget"
      title="Set what it may propose"
      fields={budgetFields}
      request={{ path: `${path}/budget` }}
    >
      <p>Of one currency. Software proposes within it, and a person confirms.</p>
    </Act>
  );
}

const uses = [
  { value: '', label: 'Everything but decisions about identities' },
  { value: 'balance:read payouts:read users:read destinations:read', label: 'Only look' },
  {
    value:
      'balance:read users:read users:write destinations:read payouts:read payouts:create payouts:commit kyc:write',
    label: 'Pay: recipients, quotes, commits',
  },
  {
    value: 'balance:read users:read destinations:read payouts:read payouts:create payouts:propose',
    label: 'Propose: software that a person confirms',
  },
] as const;

function Create({ account }: { account: string }): ReactNode {
  return (
    <Act
      label="New credential"
      tone="primary"
      title="Create a credential"
      fields={[
        {
          name: 'kind',
          label: 'Kind',
          initial: 'api_key',
          choices: Object.entries(kinds).map(([value, label]) => ({ value, label })),
        },
        { name: 'scopes', label: 'What it may do', isOptional: true, choices: uses },
        {
          name: 'addresses',
          label: 'Only from these addresses',
          hint: 'Ranges as 203.0.113.0/24, with spaces between',
          isOptional: true,
        },
        {
          name: 'expires_days',
          label: 'Days until it expires',
          hint: 'never, or a number',
          isOptional: true,
        },
      ]}
      request={{ path: `accounts/${account}/credentials` }}
      outcome={showSecrets(secrets)}
    >
      <p>Its secret is shown once. It can need two operators: then the second one sees it.</p>
    </Act>
  );
}
