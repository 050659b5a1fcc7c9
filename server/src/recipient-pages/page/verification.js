import { showCameraScreen } from './camera.js';
import { drawMark, drawOutline, element } from './elements.js';
import { showHandoff } from './handoff.js';
import { hasCamera, PictureProblem, readPicture } from './pictures.js';
import {
  actions,
  announce,
  button,
  describeFailure,
  paragraph,
  problems,
  returnLink,
  setBusy,
  showScreen,
  watchScreen,
} from './screens.js';
import { readState, sendPictures, types } from './sending.js';
import { hasText, say, writeDuration, writePercent } from './texts.js';

/** The identity check: introduction, document, three pictures, a last look, sending, result. */

let state;
let documentKind = 'nationalId';
/** The pictures taken so far, type to `{ blob, hints }`, in the memory of this page only. */
const pictures = new Map();
/** The URLs of their blobs, by type. */
const previewUrls = new Map();

const documents = ['passport', 'nationalId', 'drivingLicence', 'residencePermit'];
const isComputer = () => matchMedia('(hover: hover) and (pointer: fine)').matches;

export function show(page) {
  state = page.verification;
  showState();
  addEventListener('popstate', ({ state: place }) => open(place ?? { name: 'start' }));
}

/** Each screen is a place of the browser's history, so that Back leads to the screen before. */
function go(place) {
  history.pushState(place, '');
  open(place);
}

function open({ name, type }) {
  if (!state?.takes_images) showState();
  else if (name === 'start') showIntroduction();
  else if (name === 'handoff') void showHandoff({ onChanged: reload, goOn: () => goToNext() });
  else if (name === 'review') {
    if (types.every((one) => pictures.has(one))) showReview([]);
    else goToNext();
  } else if (name === 'camera') void showCamera(type);
  else showStep(type, []);
}

function goToNext() {
  const missing = types.find((type) => !pictures.has(type));
  go(missing === undefined ? { name: 'review' } : { name: 'step', type: missing });
}

function namePicture(type) {
  const key = `verify.${type.replace('document', documentKind === 'passport' ? 'passport' : 'document')}`;
  return say(key);
}

function showState() {
  if (state === null || state === undefined) showUnavailable();
  else if (state.takes_images) showIntroduction();
  else if (state.status === 'Approved') showEnd('good', 'approved');
  else if (['Expired', 'Abandoned'].includes(state.status)) showExpired();
  else showSubmitted();
}

async function reload() {
  setBusy(true);
  const isLeft = watchScreen();
  const read = await readState();
  if (isLeft()) return undefined;
  if (read === undefined) return location.reload();
  state = read;
  return showState();
}

function showEnd(mark, name) {
  showScreen(
    {
      title: say(`verify.${name}Title`),
      above: [drawMark(mark)],
      draw: () => showEnd(mark, name),
    },
    paragraph(`verify.${name}Text`),
    returnLink(),
  );
}

function showExpired() {
  showScreen(
    { title: say('verify.expiredTitle'), above: [drawMark('bad')], draw: showExpired },
    paragraph('gone.expired'),
  );
}

function showSubmitted() {
  const { review_seconds: seconds } = state;
  showScreen(
    { title: say('verify.submittedTitle'), above: [drawMark('wait')], draw: showSubmitted },
    paragraph('verify.submittedText'),
    seconds > 0
      ? paragraph('verify.duration', {}, { duration: writeDuration(seconds) })
      : undefined,
    actions(
      button('status.refresh', () => void reload()),
      returnLink(),
    ),
  );
}

function showUnavailable() {
  showScreen(
    { title: say('title.verification'), draw: showUnavailable },
    problems([describeFailure(0)]),
    actions(button('tryAgain', () => void reload())),
  );
}

function showIntroduction() {
  const wasRefused = ['Declined', 'Resubmission requested'].includes(state.status);
  const choices = documents.map((kind) => {
    const onchange = () => {
      documentKind = kind;
    };
    const input = element('input', {
      type: 'radio',
      name: 'document',
      value: kind,
      checked: kind === documentKind,
      onchange,
    });
    return element('label', { class: 'radio' }, input, say(`choice.${kind}`));
  });
  const handoff = button('handoff.show', () => go({ name: 'handoff' }));
  showScreen(
    {
      title: say(wasRefused ? 'verify.declinedTitle' : 'title.verification'),
      draw: showIntroduction,
    },
    wasRefused ? problems(describeRefusal()) : paragraph('verify.intro'),
    element('fieldset', {}, element('legend', {}, say('verify.document')), ...choices),
    paragraph('verify.privacy', { class: 'muted' }),
    actions(button('continue', goToNext, { class: 'primary' }), isComputer() ? handoff : undefined),
  );
}

function describeRefusal() {
  const { recipient_reason: reason } = state;
  const lines = [say('verify.declined')];
  if (hasText(`reason.${reason}`)) lines.push(say(`reason.${reason}`));
  return lines;
}

function stepBar(type) {
  const step = types.indexOf(type) + 1;
  const bars = types.map((_type, index) => element('li', { class: index < step ? 'reached' : '' }));
  return element(
    'div',
    {},
    element('ol', { class: 'steps', 'aria-hidden': 'true' }, ...bars),
    element('p', { class: 'step-count' }, say('verify.step', { step, count: types.length })),
  );
}

const hintOf = (type) => paragraph(type === 'face' ? 'verify.hint-face' : 'verify.hint-document');
const backButton = () => button('back', () => history.back(), { class: 'plain' });

function showStep(type, lines) {
  const camera = hasCamera()
    ? button('verify.openCamera', () => go({ name: 'camera', type }), { class: 'primary' })
    : undefined;
  showScreen(
    { title: namePicture(type), above: [stepBar(type)], draw: () => showStep(type, lines) },
    hintOf(type),
    problems(lines),
    element('div', { class: `frame ${type}` }, drawOutline(type)),
    actions(camera, filePicker(type, camera === undefined), backButton()),
  );
}

function filePicker(type, isPrimary) {
  const onchange = (event) => {
    const [file] = event.target.files;
    if (file !== undefined) void keep(type, () => readPicture(file, type));
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
  const look = isPrimary ? 'button primary' : 'button';
  return element(
    'div',
    {},
    input,
    element('label', { for: 'file', class: look }, say('verify.chooseFile')),
  );
}

function setPicture(type, picture) {
  dropPicture(type);
  pictures.set(type, picture);
  previewUrls.set(type, URL.createObjectURL(picture.blob));
}

function dropPicture(type) {
  pictures.delete(type);
  if (previewUrls.has(type)) URL.revokeObjectURL(previewUrls.get(type));
  previewUrls.delete(type);
}

async function keep(type, read) {
  setBusy(true);
  const isLeft = watchScreen();
  try {
    const picture = await read();
    // The recipient has gone back in the meantime, so it is not used.
    if (isLeft()) return;
    setPicture(type, picture);
    history.replaceState({ name: 'step', type }, '');
    showPreview(type);
  } catch (error) {
    if (isLeft()) return;
    showStep(type, [say(error instanceof PictureProblem ? error.key : 'verify.notAPicture')]);
  }
}

function showCamera(type) {
  return showCameraScreen(type, {
    retitle: () => namePicture(type),
    bar: () => stepBar(type),
    onRefused: () => showStep(type, [say('verify.cameraRefused')]),
    onTaken: (take) => void keep(type, take),
  });
}

function preview(type) {
  const alt = say('verify.preview', { name: namePicture(type) });
  return element('img', { src: previewUrls.get(type), alt });
}

function showPreview(type) {
  const { hints } = pictures.get(type);
  showScreen(
    { title: namePicture(type), above: [stepBar(type)], draw: () => showPreview(type) },
    element('div', { class: `frame filled ${type}` }, preview(type)),
    describeHints(hints),
    actions(
      button('verify.use', goToNext, { class: hints.length === 0 ? 'primary' : '' }),
      button('verify.retake', () => retake(type), { class: hints.length === 0 ? '' : 'primary' }),
    ),
  );
}

function describeHints(hints) {
  if (hints.length === 0)
    return element('p', { class: 'fine', role: 'status' }, say('quality.good'));
  const lines = hints.map((hint) => element('p', {}, say(`quality.${hint}`)));
  const title = element('h2', {}, say('quality.title'));
  return element('div', { class: 'warning', role: 'status' }, title, ...lines);
}

function retake(type) {
  dropPicture(type);
  go({ name: hasCamera() ? 'camera' : 'step', type });
}

function showReview(lines) {
  const thumbnails = types.map((type) => {
    const name = namePicture(type);
    const change = button('verify.change', () => retake(type), {
      'aria-label': say('verify.changeNamed', { name }),
    });
    return element('li', {}, preview(type), element('span', {}, name), change);
  });
  showScreen(
    { title: say('verify.reviewTitle'), draw: () => showReview(lines) },
    paragraph('verify.reviewHint'),
    problems(lines),
    element('ul', { class: 'thumbnails' }, ...thumbnails),
    actions(
      button('verify.send', () => void sendAll(), { class: 'primary' }),
      backButton(),
    ),
  );
}

async function sendAll() {
  const bar = element('progress', {
    max: '100',
    value: '0',
    'aria-label': say('verify.sending'),
  });
  const line = element('p', { class: 'muted' }, say('verify.keepOpen'));
  const draw = () => showScreen({ title: say('verify.sending'), draw }, line, bar);
  draw();
  let announced = 0;
  const blobs = new Map(types.map((type) => [type, pictures.get(type).blob]));
  const result = await sendPictures(blobs, (part) => {
    if (part < 1) bar.value = Math.floor(part * 100);
    else bar.removeAttribute('value');
    if (part === 1) line.textContent = say('verify.checking');
    if (part - announced < 0.25) return;
    announced = part;
    announce(say('verify.percent', { percent: writePercent(part) }));
  });
  announce('');
  if (result.kind !== 'refused') {
    types.forEach(dropPicture);
    await reload();
    return;
  }
  showReview(
    result.problems.map(({ key, type }) =>
      type === undefined ? say(key) : say(key, { name: namePicture(type) }),
    ),
  );
}
