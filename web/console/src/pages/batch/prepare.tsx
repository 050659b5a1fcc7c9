import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import type { Api, Schemas } from '../../api/client.ts';
import { useApi } from '../../api/context.tsx';
import { formatCountOf } from '../../format/amount.ts';
import { SelectField } from '../../ui/field.tsx';
import { Notice, ProblemNotice } from '../../ui/notice.tsx';
import { PageHead, Panel } from '../../ui/parts.tsx';
import {
  columns,
  findGaps,
  guessMapping,
  type Mapping,
  type Sheet,
  writeSheet,
} from './columns.ts';
import { Grid } from './grid.tsx';

type Batch = Schemas['Batch'];
type Props = { opened: Sheet & { name: string }; onClose: () => void };

/** Matches the columns of the file, has the service check the rows, and lets cells be fixed. */
export function PrepareBatch({ opened, onClose }: Props): ReactNode {
  const [mapping, setMapping] = useState<Mapping>(() => guessMapping(opened.header));
  const [rows, setRows] = useState(opened.rows);
  const check = useCheck(opened.name);
  const gaps = findGaps(mapping);
  const change = (row: number, column: number, value: string): void => {
    setRows(rows.map((cells, index) => (index === row ? cells.with(column, value) : cells)));
  };
  return (
    <>
      <PageHead
        title="New batch"
        lead={`${opened.name}, ${formatCountOf(rows.length, 'row')}. No money moves before the commit`}
      >
        <Button className="button" onPress={onClose}>
          Use another file
        </Button>
        <Button
          className="button primary"
          isDisabled={gaps.length > 0 || check.isPending}
          onPress={() => check.mutate(writeSheet({ header: opened.header, rows }, mapping))}
        >
          {check.isPending
            ? 'Checking every row'
            : check.data === undefined
              ? 'Check'
              : 'Check again'}
        </Button>
      </PageHead>
      <div className="stack">
        {check.error === null ? null : <ProblemNotice error={check.error} />}
        {gaps.length === 0 ? null : (
          <Notice tone="warning" title="Match these columns first">
            <p>{gaps.join(', ')}</p>
          </Notice>
        )}
        {check.data === undefined ? null : <Result batch={check.data} />}
        <Panel title="Columns">
          <div className="fields">
            {opened.header.map((title, index) => (
              <SelectField
                key={`${index}${title}`}
                label={title === '' ? `Column ${index + 1}` : title}
                value={mapping[index] ?? ''}
                onText={(name) => setMapping(mapping.with(index, name))}
                choices={listChoices(mapping[index] ?? '')}
              />
            ))}
          </div>
        </Panel>
        <Grid rows={rows} mapping={mapping} faults={check.data?.faults ?? []} onChange={change} />
      </div>
    </>
  );
}

function listChoices(current: string): { value: string; label: string }[] {
  const known = columns.map(({ name, label }) => ({ value: name, label }));
  const own = current.startsWith('metadata.') ? [{ value: current, label: current }] : [];
  return [{ value: '', label: 'Leave out' }, ...own, ...known];
}

/** Each check is a new draft; the one before is canceled, so that one file leaves one batch. */
function useCheck(name: string) {
  const api = useApi();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [last, setLast] = useState('');
  return useMutation({
    mutationFn: async (csv: string): Promise<Batch> => {
      if (last !== '') await api.cancelBatch({ batch_token: last });
      setLast('');
      const batch = await upload(api, { name, csv });
      setLast(batch.batch_token);
      return batch;
    },
    onSuccess: ({ batch_token: batch, rows }) => {
      if (rows.invalid === 0) void navigate({ to: '/batches/$batch', params: { batch } });
    },
    onSettled: () => queries.invalidateQueries({ queryKey: [api.account, 'batches'] }),
  });
}

async function upload(api: Api, { name, csv }: { name: string; csv: string }): Promise<Batch> {
  const { body } = await api.request({
    method: 'POST',
    path: '/batches/csv',
    query: { name: name.slice(0, 100) },
    body: csv,
  });
  return body as Batch;
}

function Result({ batch }: { batch: Batch }): ReactNode {
  const { invalid, valid } = batch.rows;
  if (invalid === 0) return null;
  return (
    <Notice tone="warning" title={formatCountOf(invalid, 'row has faults', 'rows have faults')}>
      <p>
        {formatCountOf(valid, 'row')} can be paid. Fix the marked cells and check again, or leave
        the faulty rows out on the page of the batch.
      </p>
    </Notice>
  );
}
