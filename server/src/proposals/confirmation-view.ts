import { createHash } from 'node:crypto';
import { escapeMarkup } from '../core/markup.ts';
import { deliveryTypeNames, type ReceiptData } from '../receipts/document.ts';
import { cleanText, formatTime, groupDigits, padToScale } from '../receipts/texts.ts';

/**
 * The page behind the link of a proposal. It is one document without scripts or anything external, so
 * that it works in any browser. Texts of recipients and of the proposer are data: escaped, isolated
 * from the direction of the text around them, and marked as what they are.
 */

export type Confirmation = {
  readonly payout: ReceiptData;
  /** What the proposer gave as reason; "" after an erasure. */
  readonly reason: string;
  /** The balance that is debited, as decimal text. Undefined once it no longer matters. */
  readonly balance: string | undefined;
  readonly minutesLeft: number;
};

export type Notice = {
  readonly tone: 'good' | 'bad' | 'neutral';
  readonly title: string;
  readonly text: string;
};

export type Page = {
  readonly notice?: Notice;
  readonly confirmation?: Confirmation;
  /** The form's token; without it there is nothing to decide. */
  readonly formToken?: string;
};

const style = `
:root { color-scheme: light dark; --bg: light-dark(#f3f5f4, #101413); --card: light-dark(#fff, #191f1d);
  --ink: light-dark(#16201c, #e7eeea); --soft: light-dark(#5a6762, #9aa8a2);
  --line: light-dark(#dfe5e2, #2c3531); --accent: light-dark(#0b6b4f, #3fb58c);
  --on-accent: light-dark(#fff, #06140e); --good: light-dark(#e5f4ec, #12301f);
  --bad: light-dark(#fdeceb, #3a1816); --neutral: light-dark(#eef1f0, #232b28) }
* { box-sizing: border-box }
body { margin: 0; background: var(--bg); color: var(--ink); font: 16px/1.5 system-ui, sans-serif }
main { max-width: 34rem; margin: 0 auto; padding: 2.5rem 1rem 4rem }
header { display: flex; justify-content: space-between; gap: 1rem; margin: 0 .25rem 1rem;
  color: var(--soft); font-size: .9rem }
.live { color: light-dark(#9a3412, #fdba74); font-weight: 600 }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 16px; padding: 1.75rem;
  box-shadow: 0 1px 2px #0000000d, 0 8px 30px #0000000d }
h1 { margin: 0; font-size: 1.05rem; font-weight: 600; color: var(--soft) }
.amount { margin: .35rem 0 0; font-size: 2.4rem; line-height: 1.15; font-weight: 650;
  letter-spacing: -.02em; font-variant-numeric: tabular-nums; overflow-wrap: anywhere }
.amount small { font-size: 1.2rem; font-weight: 600; letter-spacing: 0 }
.to { margin: .25rem 0 0; font-size: 1.2rem; overflow-wrap: anywhere }
h2 { margin: 1.75rem 0 .5rem; font-size: .8rem; font-weight: 600; letter-spacing: .06em;
  text-transform: uppercase; color: var(--soft) }
dl { margin: 0 }
dl div { display: flex; justify-content: space-between; gap: 1.5rem; padding: .5rem 0;
  border-top: 1px solid var(--line) }
dt { color: var(--soft); flex: none; max-width: 45% }
dd { margin: 0; text-align: end; overflow-wrap: anywhere; min-width: 0;
  font-variant-numeric: tabular-nums }
.total { font-weight: 650 } .total dt { color: inherit }
blockquote { margin: .25rem 0 0; padding: .75rem 1rem; background: var(--neutral);
  border-radius: 10px; overflow-wrap: anywhere }
.hint { margin: .5rem 0 0; color: var(--soft); font-size: .875rem }
.notice { border-radius: 12px; padding: 1rem 1.25rem; margin: 0 0 1rem }
.notice strong { display: block; font-size: 1.1rem } .notice p { margin: .25rem 0 0 }
.good { background: var(--good) } .bad { background: var(--bad) } .neutral { background: var(--neutral) }
form { display: flex; gap: .75rem; margin: 1.75rem 0 0 }
button { flex: 1; min-height: 3rem; border-radius: 10px; border: 1px solid var(--line);
  background: none; color: inherit; font: inherit; font-weight: 600; cursor: pointer }
button.primary { flex: 2; background: var(--accent); border-color: var(--accent);
  color: var(--on-accent) }
button:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
@media (max-width: 26rem) { form { flex-direction: column } button, button.primary { flex: none } }
`;

const styleHash = createHash('sha256').update(style).digest('base64');

/** Nothing external, no scripts, no framing; the address is the secret, so no referrer either. */
export const pageHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    `style-src 'sha256-${styleHash}'`,
    'img-src data:',
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  'x-robots-tag': 'noindex, nofollow',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

export function renderPage({ notice, confirmation, formToken }: Page): string {
  const title = formToken === undefined ? (notice?.title ?? 'Payout') : 'Confirm this payout?';
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeMarkup(title)}</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<main>
${confirmation === undefined ? '' : renderSender(confirmation.payout)}
${notice === undefined ? '' : renderNotice(notice)}
${confirmation === undefined ? '' : renderConfirmation(confirmation, formToken)}
</main>
</body>
</html>
`;
}

/** Isolated, because a name in Arabic would turn the order of what stands beside it. */
const isolate = (text: string): string => `<bdi>${escapeMarkup(cleanText(text))}</bdi>`;

const money = (amount: string, currency: string): string =>
  escapeMarkup(`${groupDigits(padToScale(amount, currency))} ${currency}`);

function renderSender({ senderName, environment }: ReceiptData): string {
  const kind = environment === 'live' ? '<span class="live">Live</span>' : '<span>Staging</span>';
  return `<header><span>${isolate(senderName)}</span>${kind}</header>`;
}

function renderNotice({ tone, title, text }: Notice): string {
  return `<section class="notice ${tone}" role="status"><strong>${escapeMarkup(title)}</strong><p>${escapeMarkup(text)}</p></section>`;
}

type Row = readonly [label: string, html: string, kind?: 'total'];

function renderRows(title: string, rows: readonly Row[]): string {
  const lines = rows.map(
    ([label, html, kind = '']) =>
      `<div class="${kind}"><dt>${escapeMarkup(label)}</dt><dd>${html}</dd></div>`,
  );
  return `<h2>${title}</h2>\n<dl>\n${lines.join('\n')}\n</dl>`;
}

function renderConfirmation(
  { payout, reason, balance, minutesLeft }: Confirmation,
  formToken: string | undefined,
): string {
  const { sourceCurrency: source, destinationCurrency: destination } = payout;
  const amount = groupDigits(padToScale(payout.destinationAmount, destination));
  const expiry = formatTime(payout.expiresOn);
  const left = minutesLeft < 1 ? 'in less than a minute' : `in ${minutesLeft} min`;
  const recipient: Row[] = [
    ['Country', escapeMarkup(payout.countryName)],
    ['Delivery', escapeMarkup(deliveryTypeNames[payout.deliveryType] ?? '')],
    ['Paid through', isolate(payout.payerName)],
    ...payout.destination.map(({ label, value }) => [label, isolate(value)] as const),
    ...(payout.network === '' ? [] : [['Network', escapeMarkup(payout.network)] as const]),
  ];
  const costs: Row[] = [
    ['Amount', money(payout.sourceAmount, source)],
    ['Fee', money(payout.fee, source)],
    ['Total debited', money(payout.totalDebited, source), 'total'],
    ['Rate', escapeMarkup(`1 ${source} = ${groupDigits(payout.exchangeRate)} ${destination}`)],
    [
      'From balance',
      balance === undefined ? source : `${money(balance, source)} <small>available</small>`,
    ],
  ];
  return `<section class="card">
<h1>${formToken === undefined ? 'Payout' : 'Confirm this payout?'}</h1>
<p class="amount">${escapeMarkup(amount)} <small>${escapeMarkup(destination)}</small></p>
<p class="to">to ${isolate(payout.recipientName)}</p>
${renderRows('Recipient', recipient)}
${renderRows('Cost', costs)}
${reason === '' ? '' : `<h2>Reason</h2>\n<blockquote><bdi>${escapeMarkup(reason)}</bdi></blockquote>\n<p class="hint">Written by the software that proposed this payout.</p>`}
${formToken === undefined ? '' : renderForm(formToken, `Open until ${expiry} (${left}). Confirming pays it; that cannot be undone.`)}
</section>`;
}

function renderForm(formToken: string, hint: string): string {
  return `<form method="post">
<input type="hidden" name="form_token" value="${escapeMarkup(formToken)}">
<button class="primary" name="decision" value="CONFIRMED">Confirm and pay</button>
<button name="decision" value="DECLINED">Decline</button>
</form>
<p class="hint">${escapeMarkup(hint)}</p>`;
}
