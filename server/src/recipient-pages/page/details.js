import { drawMark, element } from './elements.js';
import {
  actions,
  describeFailure,
  paragraph,
  problems,
  returnLink,
  send,
  setBusy,
  showScreen,
  withSender,
} from './screens.js';
import { hasText, isolate, nameCountry, say, sayCount } from './texts.js';

/** The form of a destination. Every check is the service's own; its faults stand at their fields. */

let form;
/** What was typed, by token; it survives a change of language. */
const values = new Map();
/** Codes of faults by token. */
let faults = new Map();
let chosenOption = '';
let failure = '';
let isSending = false;

export function show(page) {
  form = page.details;
  chosenOption = listOptions()[0] ?? '';
  draw();
}

function listOptions() {
  return [...new Set(form.fields.flatMap(({ options }) => options))];
}

const isShown = ({ options }) => options.length === 0 || options.includes(chosenOption);
const shownFields = () => form.fields.filter(isShown);

function nameField(field) {
  const isPixKey = chosenOption === 'pix_key' && field.options.includes('pix_key');
  const key = isPixKey ? 'field.pixKey' : field.text;
  if (!hasText(key)) return isolate(field.term);
  return field.term === '' ? say(key) : `${say(key)} (${isolate(field.term)})`;
}

function describeFault(field) {
  const code = faults.get(field.token);
  const key = hasText(`error.${code}`) ? `error.${code}` : 'error.other';
  return say(key, { field: nameField(field) });
}

function draw(movesFocus = true) {
  const groups = [
    element('p', { class: 'muted' }, say('details.private')),
    failure === '' ? undefined : problems([failure]),
    summarize(),
    drawOptions(),
    ...shownFields().map(drawField),
  ];
  const submit = element(
    'button',
    { type: 'submit', class: 'primary', disabled: isSending },
    say(isSending ? 'details.sending' : 'details.send'),
  );
  const onsubmit = (event) => {
    event.preventDefault();
    void store();
  };
  showScreen(
    { title: say('title.payout_details'), draw: () => draw(false), movesFocus },
    paragraph('details.intro'),
    drawDestination(),
    element(
      'form',
      { onsubmit, novalidate: true, autocomplete: 'on' },
      ...groups.filter(Boolean),
      actions(submit),
    ),
  );
}

function drawDestination() {
  const { payer_name: payer, country_code: country, delivery_type: type, currency_code } = form;
  const facts = [say(`delivery.${type}`), isolate(payer), nameCountry(country), currency_code];
  return element(
    'section',
    { class: 'card', 'aria-labelledby': 'destination' },
    element('h2', { id: 'destination' }, say('details.destination')),
    element('p', {}, facts.filter(Boolean).join(' · ')),
  );
}

/** All faults above the form, each a link to its field. */
function summarize() {
  const faulty = shownFields().filter(({ token }) => faults.has(token));
  if (faulty.length === 0) return undefined;
  const items = faulty.map((field) => {
    const onclick = (event) => {
      event.preventDefault();
      document.getElementById(field.token).focus();
    };
    const link = element('a', { href: `#${field.token}`, onclick }, describeFault(field));
    return element('li', {}, link);
  });
  return element(
    'div',
    { class: 'problem', id: 'summary', tabindex: '-1', role: 'group', 'aria-labelledby': 'faults' },
    element('h2', { id: 'faults' }, sayCount('details.faults', faulty.length)),
    element('ul', {}, ...items),
  );
}

function drawOptions() {
  const options = listOptions();
  if (options.length === 0) return undefined;
  const choices = options.map((option) => {
    const onchange = () => {
      chosenOption = option;
      faults = new Map();
      draw(false);
      document.getElementById(`option-${option}`).focus();
    };
    const input = element('input', {
      type: 'radio',
      name: 'option',
      id: `option-${option}`,
      value: option,
      checked: option === chosenOption,
      onchange,
    });
    return element('label', { class: 'radio' }, input, say(`option.${option}`));
  });
  const legend = element('legend', {}, say('details.chooseOption'));
  return element('fieldset', {}, legend, ...choices);
}

function drawField(field) {
  const { token, is_optional: isOptional } = field;
  const hint = describeHint(field);
  const fault = faults.has(token) ? describeFault(field) : '';
  const named = nameField(field);
  const label = element(
    'label',
    { for: token },
    named,
    isOptional ? element('span', { class: 'muted' }, ` (${say('details.optional')})`) : undefined,
  );
  const described = [hint === '' ? '' : `${token}-hint`, fault === '' ? '' : `${token}-fault`];
  const attributes = {
    id: token,
    name: token,
    required: !isOptional,
    'aria-invalid': fault === '' ? undefined : 'true',
    'aria-describedby': described.filter(Boolean).join(' ') || undefined,
    autocomplete: field.autocomplete,
    oninput: (event) => values.set(token, event.target.value),
    onchange: (event) => void check(field, event.target.value),
  };
  return element(
    'div',
    { class: fault === '' ? 'field' : 'field faulty', 'data-token': token },
    label,
    hint === '' ? undefined : element('p', { id: `${token}-hint`, class: 'hint' }, hint),
    drawInput(field, attributes),
    element('p', { id: `${token}-fault`, class: 'fault', role: 'status' }, fault),
  );
}

/** Numbers and codes; all else are names and addresses. */
const isCode = ({ example, text }) => example !== '' || text === 'field.walletAddress';

function drawInput(field, attributes) {
  const value = values.get(field.token) ?? '';
  if (field.input === 'options') {
    const empty = element('option', { value: '' }, say('select'));
    const options = field.choices.map((choice) =>
      element(
        'option',
        { value: choice.value, selected: choice.value === value },
        nameChoice(choice),
      ),
    );
    return element('select', attributes, empty, ...options);
  }
  const input = element('input', {
    ...attributes,
    type: field.input === 'date' ? 'date' : field.input_mode === 'tel' ? 'tel' : 'text',
    inputmode: field.input_mode,
    maxlength: String(field.length_max),
    // Numbers and codes are read from left to right in every script; names have their own direction.
    dir: isCode(field) ? 'ltr' : 'auto',
    autocapitalize: isCode(field) ? 'off' : undefined,
    spellcheck: 'false',
  });
  input.value = value;
  return input;
}

function nameChoice({ value, text, shows_value: showsValue, meaning }) {
  if (text !== '') return showsValue ? `${say(text)} (${isolate(value)})` : say(text);
  const name = value.replaceAll('_', ' ');
  return isolate(meaning === '' ? name : `${name} (${meaning})`);
}

function describeHint({ digits, example }) {
  const [min, max] = digits;
  const count =
    min === undefined
      ? ''
      : min === max
        ? say('hint.digits', { count: min })
        : say('hint.digitsRange', { min, max });
  const sample = example === '' || min !== undefined ? '' : say('hint.example', { example });
  return count || sample;
}

/** Values of the fields that are shown; those of another option are left out. */
function listValues() {
  return shownFields().map(({ token }) => ({ token, value: values.get(token) ?? '' }));
}

/** Checks one field when it is left, beside the others that are filled in. */
async function check(field, value) {
  const { token } = field;
  values.set(token, value);
  const filled = listValues().filter((one) => one.value.trim() !== '');
  const { status, body } = await send('/check', { values: filled });
  if (status !== 200 || values.get(token) !== value) return;
  const shown = new Set(filled.map((one) => one.token));
  for (const one of shownFields()) {
    const found = body.errors.find(({ token: of }) => of === one.token);
    const isAsked = one.token === token || faults.has(one.token);
    if (found !== undefined && shown.has(one.token) && isAsked) faults.set(one.token, found.code);
    else if (shown.has(one.token)) faults.delete(one.token);
    showFault(one);
  }
}

/** In place, because drawing the form again would take the focus away. */
function showFault(field) {
  const { token } = field;
  const input = document.getElementById(token);
  const place = document.getElementById(`${token}-fault`);
  if (input === null || place === null) return;
  const isFaulty = faults.has(token);
  const text = isFaulty ? describeFault(field) : '';
  if (place.textContent !== text) place.textContent = text;
  place.parentElement.className = isFaulty ? 'field faulty' : 'field';
  const hint = document.getElementById(`${token}-hint`) === null ? '' : `${token}-hint`;
  const described = [hint, isFaulty ? `${token}-fault` : ''].filter(Boolean).join(' ');
  if (described === '') input.removeAttribute('aria-describedby');
  else input.setAttribute('aria-describedby', described);
  if (isFaulty) input.setAttribute('aria-invalid', 'true');
  else input.removeAttribute('aria-invalid');
}

async function store() {
  if (isSending) return;
  isSending = true;
  failure = '';
  setBusy(true);
  const { status, body } = await send('/details', { values: listValues() });
  isSending = false;
  setBusy(false);
  if (status === 200) return showDone();
  if (status === 404 || status === 409) return location.reload();
  const named = (body.errors ?? []).filter(({ token }) => token !== undefined);
  faults = new Map(named.map(({ token, code }) => [token, code]));
  failure = status === 400 && faults.size > 0 ? '' : describeFailure(status);
  draw(false);
  document.getElementById('summary')?.focus();
  return undefined;
}

function showDone() {
  values.clear();
  showScreen(
    { title: say('details.doneTitle'), above: [drawMark('good')], draw: showDone },
    element('p', {}, say('details.doneText', withSender())),
    returnLink(),
  );
}
