import type { explainPayout } from '../dispatch/explain.ts';
import { formatColumns, formatSections, type Section } from './columns.ts';

/** One screen about a payout: its route, what others would cost, its attempts, and who decided. */

export type Explanation = Awaited<ReturnType<typeof explainPayout>> & {
  /** What a scheduled payout waits for, and the message of the travel rule: names with values. */
  schedule?: object;
  travel_rule?: object;
  persons_decided: readonly PersonDecision[];
  /** "" where it has ended, and of a quote. */
  waits_for: string;
  /** `payout decide` takes it back. */
  payout_version: string;
};

type PersonDecision = {
  decided_at: Date;
  action: string;
  decided_by: string;
  reason: string;
  is_effective: boolean;
};

type Candidate = Explanation['decisions'][number]['candidates'][number];
type Way = Explanation['other_ways'][number];

/** The cheapest come first; `--json` has them all. */
const waysShown = 8;

export function writeExplanation(explained: Explanation): string {
  const { schedule, travel_rule: travelRule, payout_token, status, waits_for } = explained;
  const version = `version ${explained.payout_version}`;
  const wait = waits_for === '' ? '' : `waits for ${waits_for}`;
  return formatSections([
    ['PAYOUT', [[payout_token, status, wait].filter(Boolean).join('  '), version]],
    ...explained.decisions.map(listCandidates),
    listWays(explained),
    ['ATTEMPTS', listAttempts(explained)],
    ['EXCEPTIONS', listExceptions(explained)],
    ['DECISIONS OF PERSONS', listDecisions(explained.persons_decided)],
    ...(schedule === undefined ? [] : [listFields('SCHEDULE', schedule)]),
    ...(travelRule === undefined ? [] : [listFields('TRAVEL RULE', travelRule)]),
  ]);
}

const formatTime = (time: string): string => time.slice(0, 19).replace('T', ' ');

/** `bank up`: a payer, who pays out for it, and the health of its rail. */
const describePayer = (payer: Candidate | Way): string[] => [
  payer.payer_name,
  payer.company_name,
  payer.health,
];

/** `4.20 EUR at 1.0831, 41 s old`: what its provider asks. */
function describeProvider({ provider_price: price }: Candidate | Way): string {
  if (price === null) return '';
  const fee = price.fee === '' ? 'no price' : `${price.fee} ${price.source_currency}`;
  return `${fee} at ${price.exchange_rate}, ${price.age_seconds} s old`;
}

function listCandidates(
  { decided_at: at, refused_because: why, candidates }: Explanation['decisions'][number],
  index: number,
): Section {
  const when = at === '' ? 'nothing was sent yet' : formatTime(at);
  const title = `DECISION ${index + 1}, ${when}${why === '' ? '' : `, because: ${why}`}`;
  const rows = candidates.map((candidate) => [
    ...describePayer(candidate),
    candidate.cost,
    candidate.exchange_rate,
    candidate.score ?? '-',
    describeProvider(candidate),
    candidate.is_chosen
      ? 'chosen'
      : [candidate.excluded_by || 'lower score', candidate.detail].filter(Boolean).join(': '),
  ]);
  const titles = ['payer', 'company', 'rail', 'cost', 'rate', 'score', 'provider asks', 'result'];
  return [title, formatColumns(titles, rows)];
}

function listWays({ compared_at: at, other_ways: ways }: Explanation): Section {
  const rows = ways
    .slice(0, waysShown)
    .map((way) => [
      ...describePayer(way),
      way.delivery_type.toLowerCase().replaceAll('_', ' '),
      describeGain(way),
      way.fee,
      way.exchange_rate,
      way.score ?? '-',
      describeProvider(way),
      way.detail,
    ]);
  const titles = ['payer', 'company', 'rail', 'delivery', 'recipient gets', 'fee', 'rate', 'score'];
  const others = ways.length - waysShown;
  return [
    `OTHER WAYS TO PAY, AT THE PRICES OF ${formatTime(at)}`,
    [
      ...formatColumns([...titles, 'provider asks', 'no price because'], rows),
      ...(others > 0 ? [`and ${others} more, which --json lists`] : []),
    ],
  ];
}

/** `99.20 USDC on ethereum`; without a price the currency alone. */
function describeGain({
  destination_amount: amount,
  destination_currency_code: currency,
  network,
}: Way): string {
  return `${amount === '' ? '' : `${amount} `}${currency}${network === '' ? '' : ` on ${network}`}`;
}

function listAttempts({ attempts }: Explanation): string[] {
  return formatColumns(
    ['number', 'rail', 'payer', 'state', 'reason', 'reference', 'started', 'answered'],
    attempts.map((attempt) => [
      attempt.number,
      attempt.rail,
      attempt.payer_key,
      attempt.state,
      attempt.reason,
      attempt.provider_reference,
      formatTime(attempt.started_at),
      attempt.answered_at === '' ? 'not yet' : formatTime(attempt.answered_at),
    ]),
  );
}

function listExceptions({ exceptions }: Explanation): string[] {
  return formatColumns(
    ['kind', 'opened', 'closed', 'resolution'],
    exceptions.map((exception) => [
      exception.kind,
      formatTime(exception.opened_at),
      exception.closed_at === '' ? 'open' : formatTime(exception.closed_at),
      exception.resolution,
    ]),
  );
}

function listDecisions(decisions: readonly PersonDecision[]): string[] {
  return formatColumns(
    ['time', 'decision', 'by', 'takes effect', 'reason'],
    decisions.map((decision) => [
      formatTime(decision.decided_at.toISOString()),
      decision.action,
      decision.decided_by,
      decision.is_effective ? 'yes' : 'waits for a second person',
      decision.reason,
    ]),
  );
}

function listFields(title: string, fields: object): Section {
  const rows = Object.entries(fields).map(([name, value]: [string, unknown]) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return `${name.replaceAll('_', ' ')}: ${text}`;
  });
  return [title, rows];
}
