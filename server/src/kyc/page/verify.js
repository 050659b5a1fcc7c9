import { drawMark, drawOutline, element } from './elements.js';
import {
  closeCamera,
  hasCamera,
  openCamera,
  PictureProblem,
  readPicture,
  takePicture,
} from './pictures.js';
import { readStatus, sendPictures, types } from './sending.js';
import { chooseLanguage, createSpeaker } from './texts.js';

/** One screen at a time: introduction, three pictures, check, sending, result. */

const language = chooseLanguage(navigator.languages ?? [navigator.language ?? 'en']);
const say = createSpeaker(language);
const main = document.getElementById('main');
const announcer = document.getElementById('announcer');

/** The pictures taken so far, type to blob, in the memory of this page only. */
const pictures = new Map();
/** The URLs of their blobs, by type. */
const previewUrls = new Map();
let stream;

function showScreen(title, ...children) {
  if (stream !== undefined) closeCamera(stream);
  stream = undefined;
  const heading = element('h1', { tabindex: '-1' }, title);
  const [before, after] = splitAtHeading(children);
  main.replaceChildren(...before, heading, ...after);
  main.removeAttribute('aria-busy');
  document.title = title;
  // A screen reader starts at the new screen, and a phone scrolls to its top.
  heading.focus({ preventScroll: true });
  scrollTo(0, 0);
}

/** Marks and step bars stand above the heading. */
function splitAtHeading(children) {
  const nodes = children.filter((child) => child !== undefined);
  const isAbove = (node) => node.classList?.contains('mark') || node.dataset?.above !== undefined;
  return [nodes.filter(isAbove), nodes.filter((node) => !isAbove(node))];
}

const paragraph = (key, attributes = {}) => element('p', attributes, say(key));
const button = (key, onclick, attributes = {}) =>
  element('button', { type: 'button', onclick, ...attributes }, say(key));

function describeProblems(lines) {
  if (lines.length === 0) return undefined;
  const items = lines.map((line) => element('p', {}, line));
  return element('div', { class: 'problem', role: 'alert' }, ...items);
}

function preview(type) {
  return element('img', {
    src: previewUrls.get(type),
    alt: say('preview', { name: say(`${type}.title`) }),
  });
}

function showIntroduction(status) {
  const wasDeclined = status === 'Declined' || status === 'Resubmission requested';
  showScreen(
    say('title'),
    wasDeclined ? describeProblems([say('declinedIntro')]) : paragraph('intro'),
    paragraph('needs'),
    paragraph('privacy', { class: 'muted' }),
    element('div', { class: 'actions' }, button('begin', showNext, { class: 'primary' })),
  );
}

function showNext() {
  const missing = types.find((type) => !pictures.has(type));
  if (missing === undefined) showReview([]);
  else showStep(missing, []);
}

function stepBar(type) {
  const step = types.indexOf(type) + 1;
  const bars = types.map((_type, index) => element('li', { class: index < step ? 'reached' : '' }));
  return element(
    'div',
    { 'data-above': '' },
    element('ol', { class: 'steps', 'aria-hidden': 'true' }, ...bars),
    element('p', { class: 'step-count' }, say('stepCount', { step })),
  );
}

function showStep(type, problems) {
  const camera = hasCamera()
    ? button('openCamera', () => showCamera(type), { class: 'primary' })
    : undefined;
  showScreen(
    say(`${type}.title`),
    stepBar(type),
    paragraph(`${type}.hint`),
    describeProblems(problems),
    element('div', { class: `frame ${type}` }, drawOutline(type)),
    element('div', { class: 'actions' }, camera, ...filePicker(type, camera === undefined)),
  );
}

function filePicker(type, isPrimary) {
  const onchange = (event) => {
    const [file] = event.target.files;
    if (file !== undefined) void keep(type, () => readPicture(file));
  };
  const input = element('input', {
    type: 'file',
    id: 'file',
    class: 'visually-hidden',
    accept: 'image/jpeg,image/png,image/*',
    // Without camera access from the page, a phone can open its own camera.
    capture: isPrimary ? (type === 'face' ? 'user' : 'environment') : undefined,
    onchange,
  });
  const look = isPrimary ? 'file-button primary' : 'file-button';
  const label = element('label', { for: 'file', class: look }, say('chooseFile'));
  return [element('div', {}, input, label)];
}

function setPicture(type, blob) {
  dropPicture(type);
  pictures.set(type, blob);
  previewUrls.set(type, URL.createObjectURL(blob));
}

function dropPicture(type) {
  pictures.delete(type);
  if (previewUrls.has(type)) URL.revokeObjectURL(previewUrls.get(type));
  previewUrls.delete(type);
}

async function keep(type, read) {
  main.setAttribute('aria-busy', 'true');
  try {
    setPicture(type, await read());
    showPreview(type);
  } catch (error) {
    const key = error instanceof PictureProblem ? error.key : 'notAPicture';
    showStep(type, [say(key)]);
  }
}

async function showCamera(type) {
  let opened;
  try {
    opened = await openCamera(type);
  } catch {
    showStep(type, [say('cameraRefused')]);
    return;
  }
  const video = element('video', { autoplay: true, muted: true, playsinline: true });
  video.srcObject = opened;
  const take = button('takePicture', () => void keep(type, () => takePicture(video)), {
    class: 'primary',
    disabled: true,
  });
  video.addEventListener('loadeddata', () => {
    take.disabled = false;
  });
  showScreen(
    say(`${type}.title`),
    stepBar(type),
    paragraph(`${type}.hint`),
    element('div', { class: `frame filled live ${type}` }, video),
    element(
      'div',
      { class: 'actions' },
      take,
      button('stopCamera', () => showStep(type, [])),
    ),
  );
  stream = opened;
}

function showPreview(type) {
  showScreen(
    say(`${type}.title`),
    stepBar(type),
    element('div', { class: `frame filled ${type}` }, preview(type)),
    element(
      'div',
      { class: 'actions' },
      button('usePicture', showNext, { class: 'primary' }),
      button('retake', () => retake(type)),
    ),
  );
}

function retake(type) {
  dropPicture(type);
  showStep(type, []);
}

function showReview(problems) {
  const thumbnails = types.map((type) => {
    const name = say(`${type}.short`);
    const change = button('change', () => retake(type), {
      'aria-label': say('changeNamed', { name: say(`${type}.title`) }),
    });
    return element('li', {}, preview(type), element('span', {}, name), change);
  });
  showScreen(
    say('reviewTitle'),
    paragraph('reviewHint'),
    describeProblems(problems),
    element('ul', { class: 'thumbnails' }, ...thumbnails),
    element(
      'div',
      { class: 'actions' },
      button('send', () => void send(), { class: 'primary' }),
    ),
  );
}

async function send() {
  const bar = element('progress', { max: '100', value: '0', 'aria-label': say('sending') });
  const state = element('p', { class: 'muted' }, say('sendingHint'));
  showScreen(say('sending'), state, bar);
  let announced = 0;
  const result = await sendPictures(pictures, (part) => {
    const percent = Math.floor(part * 100);
    if (percent < 100) bar.value = percent;
    else bar.removeAttribute('value');
    if (percent === 100) state.textContent = say('checking');
    if (percent - announced < 25) return;
    announced = percent;
    announcer.textContent = say('percent', { percent });
  });
  announcer.textContent = '';
  if (result.kind !== 'refused') {
    types.forEach(dropPicture);
    await showState();
    return;
  }
  showReview(
    result.problems.map(({ key, type }) =>
      type === undefined ? say(key) : say(key, { name: say(`${type}.title`) }),
    ),
  );
}

function showEnd(mark, name) {
  showScreen(say(`${name}Title`), drawMark(mark), paragraph(`${name}Text`));
}

async function showState() {
  const state = await readStatus();
  if (state.kind === 'invalid') showEnd('bad', 'invalid');
  else if (state.kind === 'unavailable') showUnavailable();
  else if (state.takesImages) showIntroduction(state.status);
  else if (state.status === 'Approved') showEnd('good', 'approved');
  else if (state.status === 'Expired' || state.status === 'Abandoned') showEnd('bad', 'expired');
  else showEnd('wait', 'submitted');
}

function showUnavailable() {
  showScreen(
    say('unavailableTitle'),
    describeProblems([say('serverProblem')]),
    element(
      'div',
      { class: 'actions' },
      button('tryAgain', () => void showState()),
    ),
  );
}

document.documentElement.lang = language;
void showState();
