import { element } from './elements.js';
import { changeLanguage, currentLanguage, isolate, languages, path, say } from './texts.js';

/** One screen at a time in the frame that names the sender. */

const main = document.getElementById('main');
const announcer = document.getElementById('announcer');

let sender = null;
let isTest = false;
let redirectUrl = '';
/** Draws the present screen again, in another language. */
let redraw = () => undefined;
/** Ends what the present screen uses, such as the camera. */
let leave = () => undefined;
/** Counts the screens, so that what takes a while can see that it comes too late. */
let screens = 0;

/** A question to ask later: whether the person has gone to another screen since. */
export function watchScreen() {
  const present = screens;
  return () => screens !== present;
}

export function senderName() {
  return sender?.name ?? '';
}

/** The values of every text that names the sender. */
export function withSender(values = {}) {
  return { sender: senderName(), ...values };
}

export function announce(text) {
  announcer.textContent = text;
}

export const paragraph = (key, attributes = {}, values = {}) =>
  element('p', attributes, say(key, withSender(values)));

export const button = (key, onclick, attributes = {}) =>
  element('button', { type: 'button', onclick, ...attributes }, say(key, withSender()));

export const actions = (...children) => element('div', { class: 'actions' }, ...children);

/** Lines of faults, announced at once. */
export function problems(lines) {
  if (lines.length === 0) return undefined;
  const items = lines.map((line) => element('p', {}, line));
  return element('div', { class: 'problem', role: 'alert' }, ...items);
}

/**
 * Shows a screen: `title`, what stands `above` it, and what is below. `draw` shows the same screen
 * again; `end` runs when it is left. Without `movesFocus` the person stays where they are.
 */
export function showScreen(screen, ...children) {
  const { title, above = [], draw, end = () => undefined, movesFocus = true } = screen;
  leave();
  screens += 1;
  leave = end;
  redraw = draw;
  const heading = element('h1', { tabindex: '-1' }, title);
  main.replaceChildren(
    ...above,
    heading,
    ...children.filter((child) => child !== undefined && child !== ''),
  );
  main.removeAttribute('aria-busy');
  document.title = sender === null ? title : `${title} – ${sender.name}`;
  drawFrame();
  if (!movesFocus) return;
  // A screen reader starts at the new screen, and a phone scrolls to its top.
  heading.focus({ preventScroll: true });
  scrollTo(0, 0);
}

export function setBusy(isBusy) {
  if (isBusy) main.setAttribute('aria-busy', 'true');
  else main.removeAttribute('aria-busy');
}

/** Where the sender wants the person to go when all is done. */
export function returnLink() {
  if (redirectUrl === '') return undefined;
  const text = say('returnTo', withSender());
  return element('a', { href: redirectUrl, class: 'button primary', rel: 'noreferrer' }, text);
}

export function setPage(page) {
  sender = page.sender;
  isTest = page.environment === 'staging';
  redirectUrl = page.redirect_url;
  const { style } = document.documentElement;
  for (const [name, color] of Object.entries(sender?.tones ?? {})) {
    style.setProperty(`--brand-${name.replace('_', '-')}`, color);
  }
}

function drawFrame() {
  const test = isTest ? element('p', { class: 'test' }, say('testMode')) : undefined;
  document.getElementById('sender').replaceChildren(...[drawSender(), test].filter(Boolean));
  document.getElementById('foot').replaceChildren(...[drawPrivacy(), drawSwitch()].filter(Boolean));
}

function drawSender() {
  if (sender === null) return undefined;
  // The picture stands beside the name, so that it needs no text of its own.
  const logo =
    sender.logo === '' ? undefined : element('img', { src: sender.logo, alt: '', class: 'logo' });
  return element('p', { class: 'sender' }, logo, element('bdi', {}, sender.name));
}

function drawPrivacy() {
  if (sender === null || sender.privacy_url === '') return undefined;
  const attributes = { href: sender.privacy_url, target: '_blank', rel: 'noopener noreferrer' };
  return element('a', attributes, say('privacyNotice', withSender()));
}

function drawSwitch() {
  const options = languages.map(({ code, name, dir }) =>
    element(
      'option',
      { value: code, lang: code, dir, selected: code === currentLanguage() },
      isolate(name),
    ),
  );
  const onchange = async (event) => {
    if (await changeLanguage(event.target.value)) {
      redraw();
      document.getElementById('language').focus();
    } else event.target.value = currentLanguage();
  };
  return element(
    'p',
    { class: 'language' },
    element('label', { for: 'language' }, say('language.choose')),
    element('select', { id: 'language', onchange }, ...options),
  );
}

/** The answer of the service: `{ status, body }`; status 0 where it cannot be reached. */
export async function send(place, content) {
  try {
    const response = await fetch(path + place, {
      method: content === undefined ? 'GET' : 'POST',
      headers: {
        accept: 'application/json',
        ...(content !== undefined && { 'content-type': 'application/json' }),
      },
      ...(content !== undefined && { body: JSON.stringify(content) }),
      credentials: 'omit',
    });
    const text = await response.text();
    return { status: response.status, body: text === '' ? {} : JSON.parse(text) };
  } catch {
    return { status: 0, body: {} };
  }
}

/** The message for an answer that is neither a success nor about the person's input. */
export function describeFailure(status) {
  if (status === 0) return say('unavailable');
  return say(status === 429 || status === 503 ? 'busy' : 'serverProblem');
}
