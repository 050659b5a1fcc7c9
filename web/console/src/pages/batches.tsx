import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { DropZone } from 'react-aria-components/DropZone';
import { FileTrigger } from 'react-aria-components/FileTrigger';
import type { Schemas } from '../api/client.ts';
import { useApi } from '../api/context.tsx';
import { useMay } from '../api/operator.ts';
import { formatCount } from '../format/amount.ts';
import { decodeCsv, readCsv } from '../format/csv-reader.ts';
import { readable, type Tone } from '../format/words.ts';
import { heads } from '../shell/heads.ts';
import { Icon } from '../ui/icon.tsx';
import { Notice, ProblemNotice } from '../ui/notice.tsx';
import { Empty, Foreign, PageHead, Panel, Tag, Time } from '../ui/parts.tsx';
import { type Column, Table } from '../ui/table.tsx';
import type { Sheet } from './batch/columns.ts';
import { PrepareBatch } from './batch/prepare.tsx';
import './batch.css';

type Batch = Schemas['Batch'];
type Opened = Sheet & { name: string };

/** From a file to a batch, and the batches there are. */
export function Batches(): ReactNode {
  const mayWrite = useMay('operate');
  const [opened, setOpened] = useState<Opened | undefined>();
  if (opened !== undefined) {
    return <PrepareBatch key={opened.name} opened={opened} onClose={() => setOpened(undefined)} />;
  }
  return (
    <>
      <PageHead {...heads.batches} />
      <div className="stack">
        {mayWrite ? <Drop onOpened={setOpened} /> : null}
        <BatchList />
      </div>
    </>
  );
}

/** A person fixes cells in a table of this size; longer files go through the API. */
const rowsMax = 5_000;

function Drop({ onOpened }: { onOpened: (opened: Opened) => void }): ReactNode {
  const [fault, setFault] = useState('');
  const open = async (file: File | undefined): Promise<void> => {
    if (file === undefined) return;
    try {
      const [header, ...rows] = readCsv(decodeCsv(new Uint8Array(await file.arrayBuffer())));
      if (header === undefined || rows.length === 0) throw new SyntaxError('The file has no rows');
      if (rows.length > rowsMax) {
        const words = `The file has ${formatCount(rows.length)} rows. Send more than ${formatCount(rowsMax)} by POST /batches`;
        throw new SyntaxError(words);
      }
      setFault('');
      onOpened({ name: file.name, header, rows });
    } catch (error) {
      setFault(error instanceof Error ? error.message : 'The file cannot be read');
    }
  };
  return (
    <>
      <DropZone
        className="drop"
        aria-label="Drop a CSV file"
        onDrop={({ items }) => {
          const [item] = items;
          if (item?.kind === 'file') void item.getFile().then(open);
        }}
      >
        <Icon name="batch" />
        <p>
          <strong>Drop a CSV file here</strong>
        </p>
        <p className="small faint">
          One payment per line, with a header. Any names of columns: you match them next.
        </p>
        <FileTrigger
          acceptedFileTypes={['text/csv', '.csv', 'text/plain']}
          onSelect={(files) => void open(files?.[0])}
        >
          <Button className="button">Choose a file</Button>
        </FileTrigger>
      </DropZone>
      {fault === '' ? null : (
        <Notice tone="danger" title="The file was not opened">
          <p>{fault}</p>
        </Notice>
      )}
    </>
  );
}

const tones: Readonly<Record<string, Tone>> = {
  DRAFT: 'neutral',
  QUOTED: 'warning',
  RECEIVING: 'progress',
  COMMITTING: 'progress',
  COMMITTED: 'success',
};

export function BatchStatus({ status }: { status: string }): ReactNode {
  const icon = status === 'COMMITTED' ? 'check' : status === 'CANCELLED' ? 'cancel' : 'clock';
  return (
    <Tag tone={tones[status] ?? 'neutral'} icon={icon}>
      {readable(status)}
    </Tag>
  );
}

const batchColumns: readonly Column<Batch>[] = [
  { head: 'Status', cell: (batch) => <BatchStatus status={batch.status} /> },
  {
    head: 'Name',
    kind: 'name',
    cell: (batch) => (
      <Link to="/batches/$batch" params={{ batch: batch.batch_token }} className="clip">
        <Foreign>{batch.name || batch.batch_token}</Foreign>
      </Link>
    ),
  },
  { head: 'Rows', kind: 'right', cell: ({ rows }) => formatCount(rows.total) },
  { head: 'Faults', kind: 'right', cell: ({ rows }) => formatCount(rows.invalid) },
  { head: 'Created (UTC)', kind: 'right', cell: (batch) => <Time value={batch.created_on} /> },
];

function BatchList(): ReactNode {
  const api = useApi();
  const { data, error, refetch } = useQuery({
    queryKey: [api.account, 'batches'],
    queryFn: () => api.readPage<Batch>('/batches', { number_of_records: 50 }),
    refetchInterval: 10_000,
  });
  if (error !== null) return <ProblemNotice error={error} retry={() => void refetch()} />;
  return (
    <Panel title="Newest batches" isFlush>
      {data?.rows.length === 0 ? (
        <Empty icon="batch" title="No batches yet">
          A batch is checked row by row before any money moves.
        </Empty>
      ) : (
        <Table
          label="Table of batches"
          columns={batchColumns}
          rows={data?.rows}
          keyOf={(batch) => batch.batch_token}
        />
      )}
    </Panel>
  );
}
