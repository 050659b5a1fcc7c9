import type { ReactNode } from 'react';
import type { ApprovalPreview } from '../../api/operator-types.ts';
import { formatCount, formatPercent } from '../../format/amount.ts';
import { Foreign } from '../../ui/parts.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { TokenLink } from '../../ui/token-link.tsx';

type Count = ApprovalPreview['rules'][number];
type Example = ApprovalPreview['examples'][number];

const countColumns: readonly Column<Count>[] = [
  { head: 'Rule', kind: 'name', cell: ({ name }) => <Foreign>{name}</Foreign> },
  { head: 'Would have held', kind: 'right', cell: ({ held }) => formatCount(held) },
];

const exampleColumns: readonly Column<Example>[] = [
  { head: 'Payout', cell: ({ payout_token: token }) => <TokenLink token={token} /> },
  { head: 'Rules', kind: 'text', cell: ({ rules }) => <Foreign>{rules.join(', ')}</Foreign> },
];

type Props = { preview: ApprovalPreview; days: string };

/** Which of the past payouts the rules would have held. */
export function PreviewResult({ preview, days }: Props): ReactNode {
  const { payouts, held, rules, examples } = preview;
  const share = payouts === 0 ? '' : ` (${formatPercent(held / payouts)})`;
  return (
    <section className="stack" aria-label="On past payouts">
      <h3>
        {formatCount(held)} of {formatCount(payouts)} payouts of the last {days} days would have
        been held{share}
      </h3>
      {rules.length === 0 ? null : (
        <Table label="By rule" columns={countColumns} rows={rules} keyOf={({ name }) => name} />
      )}
      {examples.length === 0 ? null : (
        <Table
          label="Newest payouts that would have been held"
          columns={exampleColumns}
          rows={examples}
          keyOf={({ payout_token: token }) => token}
        />
      )}
    </section>
  );
}
