import { Gauge, type Registry } from 'prom-client';

/** Names, labels and help of the gauges. */

type NewGauge = (name: string, help: string, ...labelNames: string[]) => Gauge;

export function createAll(registry: Registry) {
  const gauge: NewGauge = (name, help, ...labelNames) =>
    new Gauge({
      name: `outlay_${name}`,
      help,
      labelNames: ['environment', ...labelNames],
      registers: [registry],
    });
  return {
    ...createPayoutGauges(gauge),
    ...createProviderGauges(gauge),
    ...createServiceGauges(gauge),
  };
}

function createPayoutGauges(gauge: NewGauge) {
  return {
    due: gauge(
      'payouts_due',
      'Payouts whose next step is due, or that could not be sent and will be tried again',
      'rail',
    ),
    backingOff: gauge(
      'payouts_backing_off',
      'Of outlay_payouts_due, those that could not be sent or had no clear answer',
      'rail',
    ),
    unfinished: gauge('payouts_unfinished', 'Payouts that are not final', 'rail', 'status'),
    oldest: gauge(
      'payout_oldest_unfinished_seconds',
      'Time since the commit of the oldest payout that is not final',
      'rail',
      'status',
    ),
    exceptions: gauge('exceptions_open', 'Open exceptions', 'kind'),
    oldestException: gauge(
      'exception_oldest_open_seconds',
      'Time since the oldest open exception was opened',
      'kind',
    ),
    freezes: gauge('freezes_open', 'What operators have stopped', 'scope'),
    frozen: gauge('payouts_frozen', 'Payouts that wait for the end of a freeze', 'scope'),
    lag: gauge('dispatch_lag_seconds', 'How long the first payout that is due has waited', 'rail'),
    railHealth: gauge(
      'rail_health',
      'Circuit breaker of a rail in a process that sends: 1 up, 0.5 degraded, 0 down',
      'rail',
    ),
    cutOff: gauge('rail_next_cut_off_seconds', 'Time until the next cut-off of a rail', 'rail'),
    funds: gauge(
      'rail_funds',
      'What is left to pay from at the counterparty of a rail, in units of the currency',
      'rail',
      'currency',
    ),
    fundsAge: gauge(
      'rail_funds_age_seconds',
      'Age of outlay_rail_funds, where the rail knows it by a statement only',
      'rail',
      'currency',
    ),
    fundsLeft: gauge(
      'rail_funds_left',
      'Of outlay_rail_funds, what is left after the payouts that are committed or scheduled for a day',
      'rail',
      'currency',
    ),
    unsigned: gauge(
      'ledger_unsigned_seconds',
      'How long the oldest change that no signed checkpoint covers has waited',
    ),
  };
}

/** What providers of rails say of prices and recipients. */
function createProviderGauges(gauge: NewGauge) {
  return {
    priceAge: gauge(
      'rail_price_age_seconds',
      'Age of the newest price that the provider of a rail quoted',
      'rail',
    ),
    unpriced: gauge(
      'rail_payers_unpriced',
      "Payers and currencies that are not offered, because their provider's price is too old",
      'rail',
    ),
    requirementsAge: gauge(
      'rail_requirements_age_seconds',
      'Age of what the provider of a rail asks for its recipients, of the payer that is read least',
      'rail',
    ),
  };
}

function createServiceGauges(gauge: NewGauge) {
  return {
    loopAge: gauge(
      'loop_success_age_seconds',
      'Time since background work of this process last succeeded',
      'loop',
    ),
    rateAge: gauge('rates_age_seconds', 'Age of the newest rate of a source', 'source'),
    ratesUnusable: gauge('rates_unusable', 'Delivered currencies without a usable exchange rate'),
    listAge: gauge(
      'screening_list_age_seconds',
      'Time since a sanctions list was last read',
      'list',
    ),
    recipientHits: gauge(
      'screening_recipients_waiting',
      'Recipients with a sanctions hit that no person has decided about',
    ),
    recipientPass: gauge(
      'screening_pass_seconds',
      'How long the pass over all recipients after a change of the lists has run; 0: finished',
    ),
    webhooks: gauge('webhooks', 'Webhook endpoints', 'status'),
    webhooksFailing: gauge('webhooks_failing', 'Webhook endpoints whose last request failed'),
    webhookBacklog: gauge(
      'webhook_backlog_events',
      'Events that enabled webhook endpoints have not been sent yet',
    ),
    oldestWebhook: gauge(
      'webhook_oldest_waiting_seconds',
      'How long the oldest event for a webhook endpoint that does not fail has waited',
    ),
    notices: gauge('notices_waiting', 'Notices to recipients that were not sent yet', 'channel'),
    oldestNotice: gauge(
      'notice_oldest_waiting_seconds',
      'Time since the oldest notice that was not sent yet was written',
      'channel',
    ),
    credentials: gauge(
      'credentials_expiring',
      'Credentials of clients that expire within this many days and were not replaced',
      'days',
    ),
    connections: gauge('database_connections', 'Connections by pool', 'pool', 'state'),
    diskFull: gauge(
      'database_disk_full',
      '1 where the database had no disk space left for a statement of the last minute',
    ),
    clockAhead: gauge(
      'database_clock_ahead_seconds',
      "Minimum lead of the database's clock over this machine's, in seconds",
    ),
    readAge: gauge(
      'database_gauges_age_seconds',
      'Time since the gauges of the database were read',
    ),
  };
}

export type AllGauges = ReturnType<typeof createAll>;
