import { drawMark, element } from './elements.js';
import {
  actions,
  announce,
  button,
  describeFailure,
  problems,
  returnLink,
  send,
  senderName,
  showScreen,
  withSender,
} from './screens.js';
import { isolate, nameCountry, path, say, writeClock, writeMoney, writeTime } from './texts.js';

/** Where a payment is, what arrives and when, and what the recipient has to do. */

let payout;
let failure = '';
let readAt = '';
let timer;

const refreshMs = 20_000;
const ended = new Set(['COMPLETED', 'CANCELLED']);
const marks = { COMPLETED: 'good', READY_FOR_PICKUP: 'good', CANCELLED: 'bad' };

export function show(page) {
  payout = page.payout;
  readAt = page.read_on;
  draw();
  plan();
}

function plan() {
  clearTimeout(timer);
  if (!ended.has(payout.status)) timer = setTimeout(() => void refresh(false), refreshMs);
}

async function refresh(isWanted) {
  // A page in the background asks for nothing.
  if (!isWanted && document.visibilityState === 'hidden') return plan();
  const before = payout.status;
  const { status, body } = await send('/state');
  if (status === 200 && body.kind !== 'payout_status') return location.reload();
  failure = status === 200 ? '' : describeFailure(status);
  if (status === 200) {
    payout = body.payout;
    readAt = body.read_on;
  }
  if (isWanted || payout.status !== before) draw(false);
  if (isWanted) document.getElementById('refresh')?.focus();
  if (payout.status !== before) announce(say(`status.${chooseTitle()}`));
  return plan();
}

function draw(movesFocus = true) {
  const { status, amount } = payout;
  showScreen(
    {
      title: say(`status.${chooseTitle()}`),
      above: [drawMark(marks[status] ?? 'wait')],
      draw: () => draw(false),
      movesFocus,
    },
    failure === '' ? undefined : problems([failure]),
    element('p', { class: 'muted' }, say('status.youGet')),
    element('p', { class: 'amount' }, writePayoutMoney(amount)),
    drawCode(),
    drawTodo(),
    drawFacts(),
    actions(drawReceipt(), drawRefresh(), returnLink()),
  );
}

function drawCode() {
  if (payout.pickup_code === '' || ended.has(payout.status)) return undefined;
  // In groups, as a person reads it out; copied as one number.
  const groups = payout.pickup_code.match(/.{1,4}/g).map((part) => element('span', {}, part));
  return element(
    'section',
    { class: 'card', 'aria-labelledby': 'code' },
    element('h2', { id: 'code' }, say('status.pickupCode')),
    element('p', { class: 'code', dir: 'ltr' }, ...groups),
    element('p', { class: 'muted' }, say('status.codeSecret')),
  );
}

function drawTodo() {
  const { payer_name: payer, returned_amount: returned } = payout;
  const amount = returned === '' ? '' : writePayoutMoney(returned);
  const text = say(`todo.${chooseTodo()}`, withSender({ payer, amount }));
  return element(
    'section',
    { class: 'card', 'aria-labelledby': 'todo' },
    element('h2', { id: 'todo' }, say('todo.title')),
    element('p', {}, text),
  );
}

const writePayoutMoney = (amount) =>
  writeMoney(amount, payout.currency_code, payout.fraction_digits);

/** Of a payment that was paid out: what of it came back. */
function chooseReturn() {
  if (payout.returned_amount === '') return undefined;
  return payout.returned_amount === payout.amount ? 'returned' : 'returnedInPart';
}

const chooseTitle = () => chooseReturn() ?? payout.status;

function chooseTodo() {
  const { status, needs_pickup_code: needsCode, pickup_code: code, delivery_type: type } = payout;
  if (status === 'CANCELLED') return chooseReturn() ?? 'canceled';
  if (status === 'HOLD' || status === 'ERROR') return 'wait';
  if (status === 'READY_FOR_PICKUP') return needsCode && code === '' ? 'askCode' : 'pickup';
  if (status !== 'COMPLETED') return 'nothing';
  return ['BANK_DEPOSIT', 'MOBILE_WALLET', 'CRYPTOCURRENCY'].includes(type)
    ? 'account'
    : 'delivered';
}

function drawFacts() {
  const { delivery_type: type, payer_name: payer, country_code: country } = payout;
  const how = [say(`delivery.${type}`), isolate(payer), nameCountry(country)].filter(Boolean);
  const facts = [
    ['status.from', isolate(senderName())],
    ['status.how', how.join(' · ')],
  ];
  if (payout.status === 'COMPLETED') facts.push(['status.arrived', writeTime(payout.completed_on)]);
  // What waits at the counter has arrived: a time to come would send people away.
  else if (!['CANCELLED', 'READY_FOR_PICKUP'].includes(payout.status)) {
    facts.push(['status.expected', writeTime(payout.estimated_availability)]);
  }
  if (payout.network_reference !== '') {
    facts.push(['status.reference', isolate(payout.network_reference)]);
  }
  const rows = facts.map(([key, text]) =>
    element('div', {}, element('dt', {}, say(key)), element('dd', {}, text)),
  );
  return element('dl', { class: 'facts' }, ...rows);
}

function drawReceipt() {
  if (!payout.has_receipt) return undefined;
  return element(
    'a',
    { href: `${path}/receipt`, class: 'button primary', target: '_blank', rel: 'noopener' },
    say('status.receipt'),
  );
}

function drawRefresh() {
  const time = element(
    'span',
    { class: 'muted' },
    say('status.updated', { time: writeClock(readAt) }),
  );
  const again = button('status.refresh', () => void refresh(true), { id: 'refresh' });
  return ended.has(payout.status) ? undefined : element('div', {}, again, time);
}
