import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import type { Schemas } from '../../api/client.ts';
import { useApi } from '../../api/context.tsx';
import { findFault } from '../../ui/faults.ts';
import { TextField } from '../../ui/field.tsx';
import { Notice, ProblemNotice } from '../../ui/notice.tsx';
import { Copy, Panel } from '../../ui/parts.tsx';
import { chooseAs, EventTypesField, isEmptyChoice, writeChoice } from './event-types.tsx';

const allEvents = chooseAs([]);

export function NewWebhook(): ReactNode {
  const api = useApi();
  const queries = useQueryClient();
  const [url, setUrl] = useState('');
  const [events, setEvents] = useState(allEvents);
  const create = useMutation({
    mutationFn: () => {
      const body = { url, description: '', event_types: writeChoice(events) };
      return api.createWebhook({ body: { ...body, signature: 'hmac-sha256' } });
    },
    onSuccess: () => {
      setUrl('');
      setEvents(allEvents);
    },
    onSettled: () => queries.invalidateQueries({ queryKey: [api.account, 'webhooks'] }),
  });
  return (
    <Panel title="Add an endpoint">
      <EndpointForm
        terms={{ url, events }}
        setUrl={setUrl}
        setEvents={setEvents}
        error={create.error}
        submit={() => create.mutate()}
      >
        {create.data === undefined ? null : (
          <Notice tone="success" icon="checkCircle" title="Added. Copy its secret now">
            <p>It signs the deliveries and is shown only once.</p>
            <Copy value={create.data.secret} label="secret" isWhole />
          </Notice>
        )}
        <div className="row">
          <Button
            type="submit"
            className="button"
            isDisabled={create.isPending || isEmptyChoice(events)}
          >
            Add
          </Button>
        </div>
      </EndpointForm>
    </Panel>
  );
}

type ChangeProps = { webhook: Schemas['Webhook']; close: () => void };

/** Address and events of an endpoint. */
export function ChangeWebhook({ webhook, close }: ChangeProps): ReactNode {
  const api = useApi();
  const queries = useQueryClient();
  const [url, setUrl] = useState(webhook.url);
  const [events, setEvents] = useState(chooseAs(webhook.event_types));
  const change = useMutation({
    mutationFn: () => {
      const body = { url, event_types: writeChoice(events) };
      return api.changeWebhook({ webhook_token: webhook.webhook_token, body });
    },
    onSuccess: close,
    onSettled: () => queries.invalidateQueries({ queryKey: [api.account, 'webhooks'] }),
  });
  return (
    <EndpointForm
      terms={{ url, events }}
      setUrl={setUrl}
      setEvents={setEvents}
      error={change.error}
      submit={() => change.mutate()}
    >
      <div className="row">
        <Button
          type="submit"
          className="button primary"
          isDisabled={change.isPending || isEmptyChoice(events)}
        >
          Save
        </Button>
        <Button className="button plain" onPress={close}>
          Back
        </Button>
      </div>
    </EndpointForm>
  );
}

type FormProps = {
  terms: { url: string; events: ReturnType<typeof chooseAs> };
  setUrl: (url: string) => void;
  setEvents: (events: ReturnType<typeof chooseAs>) => void;
  error: Error | null;
  submit: () => void;
  children: ReactNode;
};

function EndpointForm(props: FormProps): ReactNode {
  const { terms, setUrl, setEvents, error, submit, children } = props;
  const send = (event: FormEvent): void => {
    event.preventDefault();
    submit();
  };
  return (
    <form className="stack" onSubmit={send}>
      <TextField
        label="Address"
        hint="HTTPS, reachable from the internet"
        placeholder="https://example.com/outlay"
        type="url"
        required
        maxLength={2000}
        value={terms.url}
        onText={setUrl}
        fault={findFault(error, 'url')}
      />
      <EventTypesField
        value={terms.events}
        fault={
          isEmptyChoice(terms.events)
            ? 'Choose at least one type of event'
            : findFault(error, 'event_types')
        }
        set={setEvents}
      />
      {error === null ? null : <ProblemNotice error={error} />}
      {children}
    </form>
  );
}
