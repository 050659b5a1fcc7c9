import { type Known, readText, type Step } from './steps.ts';

/** Webhooks, to a receiver that the recorder starts. */

const webhookOf = (known: Known) => ({ webhook_token: known['webhook_token'] ?? '' });

const done = (operationId: string): Step => ({
  operationId,
  summary: 'Done',
  request: (known) => ({ params: webhookOf(known) }),
});

export const webhookSteps: Step[] = [
  {
    operationId: 'createWebhook',
    summary: 'What happens to webhooks themselves',
    request: (known) => ({
      body: {
        url: known['receiver_url'],
        description: 'Operations',
        event_types: ['webhook.*'],
      },
    }),
    keep: (body) => ({ webhook_token: readText(body, 'webhook_token') }),
  },
  {
    operationId: 'createWebhook',
    summary: 'An address of a private network, and a type that no event has',
    status: 400,
    isWrong: true,
    request: () => ({ body: { url: 'https://10.0.0.1/', event_types: ['Payout'] } }),
  },
  {
    operationId: 'testWebhook',
    summary: 'Requested',
    request: (known) => ({ params: webhookOf(known) }),
    keep: (body) => ({ delivery_token: readText(body, 'delivery_token') }),
  },
  {
    operationId: 'getWebhookDelivery',
    summary: 'The test',
    isSettled: ({ status }) => status !== 404,
    request: (known) => ({
      params: { ...webhookOf(known), delivery_token: known['delivery_token'] ?? '' },
    }),
  },
  {
    operationId: 'listWebhookDeliveries',
    summary: 'One delivery',
    request: (known) => ({ params: webhookOf(known), query: { result: 'delivered' } }),
  },
  { operationId: 'listWebhooks', summary: 'One webhook', request: () => ({}) },
  {
    operationId: 'getWebhook',
    summary: 'Enabled',
    request: (known) => ({ params: webhookOf(known) }),
  },
  {
    operationId: 'changeWebhook',
    summary: 'Other types of events',
    request: (known) => ({
      params: webhookOf(known),
      body: {
        url: known['receiver_url'],
        description: 'Operations',
        event_types: ['webhook.disabled'],
      },
    }),
  },
  {
    operationId: 'rotateWebhookSecret',
    summary: 'Both secrets sign for six hours',
    request: (known) => ({ params: webhookOf(known), body: { overlap_hours: 6 } }),
  },
  {
    operationId: 'replayWebhook',
    summary: 'A preview',
    request: (known) => ({
      params: webhookOf(known),
      body: { since: '2026-01-01', dry_run: true },
    }),
  },
  done('pauseWebhook'),
  done('resumeWebhook'),
  {
    operationId: 'getWebhook',
    summary: 'Nothing is due',
    isHidden: true,
    isSettled: ({ text }) => text.includes('"next_attempt_on":""'),
    request: (known) => ({ params: webhookOf(known) }),
  },
  done('removeWebhook'),
];
