import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import type { Schemas } from '../api/client.ts';
import { useApi } from '../api/context.tsx';
import { useMay } from '../api/operator.ts';
import { formatCount, formatCountOf } from '../format/amount.ts';
import { readable } from '../format/words.ts';
import { heads } from '../shell/heads.ts';
import { findFault } from '../ui/faults.ts';
import { TextField } from '../ui/field.tsx';
import { Notice, ProblemNotice } from '../ui/notice.tsx';
import { Copy, Empty, Foreign, PageHead, Panel, Skeleton, Tag, Time } from '../ui/parts.tsx';
import { type Column, Table } from '../ui/table.tsx';
import { Together } from '../ui/together.tsx';

type Webhook = Schemas['Webhook'];

/** Endpoints that get the events, and every delivery to them. */
export function Webhooks(): ReactNode {
  const api = useApi();
  const mayWrite = useMay('operate');
  const { data, error, refetch } = useQuery({
    queryKey: [api.account, 'webhooks'],
    queryFn: () => api.listWebhooks(),
    refetchInterval: 10_000,
  });
  return (
    <>
      <PageHead {...heads.webhooks} />
      <Together>
        {mayWrite ? <NewWebhook /> : null}
        {error === null ? null : <ProblemNotice error={error} retry={() => void refetch()} />}
        {data === undefined && error === null ? <Skeleton height={180} /> : null}
        {data?.length === 0 ? (
          <Panel title="Endpoints">
            <Empty icon="webhook" title="No endpoint yet">
              Add an address above. Until then read the events by GET /events: none is lost.
            </Empty>
          </Panel>
        ) : null}
        {data?.map((webhook) => (
          <Endpoint key={webhook.webhook_token} webhook={webhook} />
        ))}
      </Together>
    </>
  );
}

function NewWebhook(): ReactNode {
  const api = useApi();
  const queries = useQueryClient();
  const [url, setUrl] = useState('');
  const create = useMutation({
    mutationFn: () =>
      api.createWebhook({
        body: { url, description: '', event_types: [], signature: 'hmac-sha256' },
      }),
    onSuccess: () => setUrl(''),
    onSettled: () => queries.invalidateQueries({ queryKey: [api.account, 'webhooks'] }),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    create.mutate();
  };
  return (
    <Panel title="Add an endpoint">
      <form className="stack" onSubmit={submit}>
        <TextField
          label="Address"
          hint="HTTPS, reachable from the internet. It gets every type of event"
          placeholder="https://example.com/outlay"
          type="url"
          required
          maxLength={2000}
          value={url}
          onText={setUrl}
          fault={findFault(create.error, 'url')}
        />
        {create.error === null ? null : <ProblemNotice error={create.error} />}
        {create.data === undefined ? null : (
          <Notice tone="success" icon="checkCircle" title="Added. Copy its secret now">
            <p>It signs the deliveries and is shown only once.</p>
            <Copy value={create.data.secret} label="secret" isWhole />
          </Notice>
        )}
        <div className="row">
          <Button type="submit" className="button" isDisabled={create.isPending}>
            Add
          </Button>
        </div>
      </form>
    </Panel>
  );
}

function Endpoint({ webhook }: { webhook: Webhook }): ReactNode {
  const api = useApi();
  const queries = useQueryClient();
  const mayWrite = useMay('operate');
  const path = { webhook_token: webhook.webhook_token };
  const onSettled = () => queries.invalidateQueries({ queryKey: [api.account] });
  const test = useMutation({ mutationFn: () => api.testWebhook(path), onSettled });
  const toggle = useMutation({
    mutationFn: async () => {
      if (webhook.status === 'ENABLED') await api.pauseWebhook(path);
      else await api.resumeWebhook(path);
    },
    onSettled,
  });
  const isEnabled = webhook.status === 'ENABLED';
  const state = (
    <Tag tone={isEnabled ? 'success' : 'warning'} icon={isEnabled ? 'check' : 'pause'}>
      {readable(webhook.status)}
    </Tag>
  );
  return (
    <Panel title={webhook.url} isFlush aside={state}>
      <div className="body stack">
        <dl className="facts">
          <dt>Events</dt>
          <dd>{webhook.event_types.length === 0 ? 'All types' : webhook.event_types.join(', ')}</dd>
          <dt>Not sent yet</dt>
          <dd className="num">{formatCountOf(webhook.backlog, 'event')}</dd>
          {webhook.failing_since === '' ? null : (
            <>
              <dt>Failing since</dt>
              <dd>
                <Time value={webhook.failing_since} />
              </dd>
            </>
          )}
          {webhook.status_reason === '' ? null : (
            <>
              <dt>Reason</dt>
              <dd>
                <Foreign>{webhook.status_reason}</Foreign>
              </dd>
            </>
          )}
        </dl>
        {mayWrite ? (
          <p className="row">
            <Button className="button" isDisabled={test.isPending} onPress={() => test.mutate()}>
              Send a test
            </Button>
            <Button
              className="button"
              isDisabled={toggle.isPending}
              onPress={() => toggle.mutate()}
            >
              {isEnabled ? 'Pause' : 'Resume'}
            </Button>
          </p>
        ) : null}
        {test.error === null ? null : <ProblemNotice error={test.error} />}
        {toggle.error === null ? null : <ProblemNotice error={toggle.error} />}
      </div>
      <Deliveries token={webhook.webhook_token} />
    </Panel>
  );
}

function Deliveries({ token }: { token: string }): ReactNode {
  const api = useApi();
  const { data } = useQuery({
    queryKey: [api.account, 'deliveries', token],
    queryFn: () =>
      api.readPage<Schemas['WebhookDelivery']>(`/webhooks/${token}/deliveries`, {
        number_of_records: 10,
      }),
    refetchInterval: 5_000,
  });
  if (data?.rows.length === 0) return <p className="more faint">No deliveries yet.</p>;
  return (
    <Table
      label="Newest deliveries"
      columns={deliveryColumns}
      rows={data?.rows}
      keyOf={(delivery) => delivery.delivery_token}
      skeletonRows={3}
    />
  );
}

const deliveryColumns: readonly Column<Schemas['WebhookDelivery']>[] = [
  { head: 'Time (UTC)', cell: (delivery) => <Time value={delivery.created_on} isExact /> },
  { head: 'Event', cell: (delivery) => <code>{delivery.type || delivery.kind}</code> },
  {
    head: 'Result',
    cell: (delivery) => (
      <>
        <span>{readable(delivery.result)}</span>
        {delivery.error === '' ? null : (
          <span className="small faint clip">
            <Foreign>{delivery.error}</Foreign>
          </span>
        )}
      </>
    ),
  },
  {
    head: 'Answer',
    kind: 'right',
    cell: ({ status_code: code }) => (code === 0 ? '—' : code),
  },
  {
    head: 'Took',
    kind: 'right',
    cell: (delivery) => `${formatCount(delivery.duration_ms)} ms`,
  },
];
