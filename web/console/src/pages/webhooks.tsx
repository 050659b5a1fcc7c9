import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import type { Schemas } from '../api/client.ts';
import { useApi } from '../api/context.tsx';
import { useMay } from '../api/operator.ts';
import { formatCount, formatCountOf } from '../format/amount.ts';
import { readable } from '../format/words.ts';
import { heads } from '../shell/heads.ts';
import { ProblemNotice } from '../ui/notice.tsx';
import { Empty, Foreign, PageHead, Panel, Skeleton, Tag, Time } from '../ui/parts.tsx';
import { type Column, Table } from '../ui/table.tsx';
import { Together } from '../ui/together.tsx';
import { ChangeWebhook, NewWebhook } from './webhooks/endpoint-form.tsx';

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
  const [isChanging, setChanging] = useState(false);
  const isEnabled = webhook.status === 'ENABLED';
  const state = (
    <Tag tone={isEnabled ? 'success' : 'warning'} icon={isEnabled ? 'check' : 'pause'}>
      {readable(webhook.status)}
    </Tag>
  );
  return (
    <Panel title={webhook.url} isFlush aside={state}>
      <div className="body stack">
        <Facts webhook={webhook} />
        {isChanging ? <ChangeWebhook webhook={webhook} close={() => setChanging(false)} /> : null}
        {mayWrite && !isChanging ? (
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
            <Button className="button" onPress={() => setChanging(true)}>
              Change
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

function Facts({ webhook }: { webhook: Webhook }): ReactNode {
  return (
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
