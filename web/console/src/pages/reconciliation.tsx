import { type ReactNode, useState } from 'react';
import { useMay, useOperator } from '../api/operator.ts';
import type { BankEntry, List, OpenSettlement, Rail, Unreconciled } from '../api/operator-types.ts';
import { formatCount } from '../format/amount.ts';
import { readable } from '../format/words.ts';
import { heads } from '../shell/heads.ts';
import { Act, readText } from '../ui/act.tsx';
import { SelectField } from '../ui/field.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { Amount, Empty, Facts, Foreign, PageHead, Panel } from '../ui/parts.tsx';
import { type Column, Table } from '../ui/table.tsx';
import { Together } from '../ui/together.tsx';
import { ImportStatement } from './reconciliation/import-statement.tsx';

/** The statements of the bank against what the ledger settled, by rail. */
export function Reconciliation(): ReactNode {
  const { data: rails } = useOperator<List<Rail>>('rails');
  const [chosen, setChosen] = useState('');
  const rail = chosen || (rails?.data[0]?.rail ?? '');
  const asked = useOperator<Unreconciled>(`reconciliation/${encodeURIComponent(rail)}`, {
    isWanted: rail !== '',
  });
  const mayOperate = useMay('operate');
  return (
    <>
      <PageHead {...heads.reconciliation}>
        {mayOperate && rail !== '' ? <ClosePeriod rail={rail} /> : null}
      </PageHead>
      <Together>
        <div className="choose">
          <SelectField
            label="Rail"
            value={rail}
            onText={setChosen}
            choices={(rails?.data ?? []).map(({ rail: value }) => ({ value, label: value }))}
          />
        </div>
        {mayOperate && rail !== '' ? <ImportStatement key={rail} rail={rail} /> : null}
        <Loaded query={asked} height={260}>
          {(open) => <Open key={rail} rail={rail} open={open} mayOperate={mayOperate} />}
        </Loaded>
      </Together>
    </>
  );
}

/** Of a closing, by their names in its outcome. */
const sums = {
  bank_movement: 'Moved at the bank',
  ledger_movement: 'Moved in the ledger',
  carried: 'Carried on',
};

function ClosePeriod({ rail }: { rail: string }): ReactNode {
  return (
    <Act
      label="Close a period"
      title={`Close a period of ${rail}`}
      fields={[
        { name: 'currency', label: 'Currency', initial: 'USD' },
        { name: 'from', label: 'First day (UTC)', type: 'date' },
        { name: 'to', label: 'Last day (UTC)', type: 'date' },
      ]}
      request={{ path: `reconciliation/${rail}/closing` }}
      outcome={(outcome, body) => (
        <Facts
          facts={Object.entries(sums).map(([name, title]) => ({
            title,
            value: <Amount value={readText(outcome, name)} currency={readText(body, 'currency')} />,
          }))}
        />
      )}
    >
      <p>
        Everything up to the last day must match or be explained. Then nothing can be imported into
        it.
      </p>
    </Act>
  );
}

type OpenProps = { rail: string; open: Unreconciled; mayOperate: boolean };

/** What is chosen on both sides is linked; what is chosen on one side is explained. */
function Open({ rail, open, mayOperate }: OpenProps): ReactNode {
  const { in_bank_only: inBank, in_ledger_only: inLedger } = open;
  const [chosenEntries, setEntries] = useState<ReadonlySet<string>>(new Set());
  const [chosenSettlements, setSettlements] = useState<ReadonlySet<string>>(new Set());
  // What has been linked or explained since it was chosen is refused in another act.
  const entries = chosenEntries.intersection(new Set(inBank.map(idOfEntry)));
  const settlements = chosenSettlements.intersection(new Set(inLedger.map(idOfSettlement)));
  return (
    <>
      <Side
        title="At the bank only"
        empty="Every entry of the bank has its settlement."
        columns={[
          ...(mayOperate
            ? [choice<BankEntry>({ chosen: entries, idOf: idOfEntry, set: setEntries })]
            : []),
          ...entryColumns,
        ]}
        rows={inBank}
        keyOf={idOfEntry}
      />
      <Side
        title="In the ledger only"
        empty="Every settlement has its entry at the bank."
        columns={[
          ...(mayOperate
            ? [
                choice<OpenSettlement>({
                  chosen: settlements,
                  idOf: idOfSettlement,
                  set: setSettlements,
                }),
              ]
            : []),
          ...settlementColumns,
        ]}
        rows={inLedger}
        keyOf={idOfSettlement}
      />
      {entries.size + settlements.size === 0 ? null : (
        <Match rail={rail} entries={[...entries]} settlements={[...settlements]} />
      )}
    </>
  );
}

const idOfEntry = ({ entry }: BankEntry): string => entry;
const idOfSettlement = ({ settlement }: OpenSettlement): string => settlement;

type ChoiceProps<Row> = {
  chosen: ReadonlySet<string>;
  idOf: (row: Row) => string;
  set: (chosen: ReadonlySet<string>) => void;
};

function choice<Row>({ chosen, idOf, set }: ChoiceProps<Row>): Column<Row> {
  return {
    head: 'Choose',
    isHeadHidden: true,
    cell: (row) => {
      const id = idOf(row);
      return (
        <input
          type="checkbox"
          aria-label={`Choose ${id}`}
          checked={chosen.has(id)}
          onChange={({ target }) => {
            const kept = [...chosen].filter((one) => one !== id);
            set(new Set(target.checked ? [...kept, id] : kept));
          }}
        />
      );
    },
  };
}

const money = {
  head: 'Amount',
  kind: 'right',
  cell: ({ amount, currency }: BankEntry | OpenSettlement) => (
    <Amount value={amount} currency={currency} />
  ),
} as const;

const entryColumns: readonly Column<BankEntry>[] = [
  { head: 'Booked on', cell: (row) => <span className="num">{row.booked_on}</span> },
  { head: 'Direction', cell: (row) => readable(row.direction) },
  { head: "Bank's reference", cell: (row) => <Foreign>{row.bank_reference}</Foreign> },
  { head: 'References', cell: (row) => <Foreign>{row.references.join(', ')}</Foreign> },
  money,
];

const settlementColumns: readonly Column<OpenSettlement>[] = [
  { head: 'Booked on', cell: (row) => <span className="num">{row.booked_on}</span> },
  { head: 'Kind', cell: (row) => readable(row.kind) },
  { head: 'Reference', cell: (row) => <code>{row.reference}</code> },
  { head: "Rail's reference", cell: (row) => <Foreign>{row.provider_reference}</Foreign> },
  money,
];

type SideProps<Row> = {
  title: string;
  empty: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
};

/** More are chosen by filters of the command. */
const rowsShown = 200;

function Side<Row>({ title, empty, columns, rows, keyOf }: SideProps<Row>): ReactNode {
  return (
    <Panel
      title={title}
      isFlush
      aside={<span className="small faint num">{formatCount(rows.length)}</span>}
    >
      {rows.length === 0 ? (
        <Empty icon="checkCircle" title="Nothing is open">
          {empty}
        </Empty>
      ) : (
        <Table
          label={`Table: ${title}`}
          columns={columns}
          rows={rows.slice(0, rowsShown)}
          keyOf={keyOf}
        />
      )}
      {rows.length > rowsShown ? (
        <p className="more faint">
          The first {rowsShown} are shown. The command reconciliation list has all.
        </p>
      ) : null}
    </Panel>
  );
}

type MatchProps = {
  rail: string;
  entries: readonly string[];
  settlements: readonly string[];
};

function Match({ rail, entries, settlements }: MatchProps): ReactNode {
  const isLink = entries.length > 0 && settlements.length > 0;
  const words = `${entries.length} of the bank, ${settlements.length} of the ledger`;
  const label = isLink ? 'Link them' : 'Explain them';
  return (
    <div className="row chosen" role="status">
      <span>Chosen: {words}</span>
      <Act
        label={label}
        tone="primary"
        title={`${isLink ? 'Link' : 'Explain'}: ${words}`}
        request={{
          path: `reconciliation/${rail}/${isLink ? 'link' : 'explanation'}`,
          body: {
            ...(entries.length > 0 && { entries: entries.join(' ') }),
            ...(settlements.length > 0 && { settlements: settlements.join(' ') }),
          },
        }}
      >
        <p>
          {isLink
            ? 'They belong together. Their sums have to be equal.'
            : 'They have no counterpart. The reason says what they are.'}
        </p>
      </Act>
    </div>
  );
}
