import { drawing, element } from './elements.js';
import {
  actions,
  button,
  describeFailure,
  paragraph,
  problems,
  showScreen,
  watchScreen,
} from './screens.js';
import { readState } from './sending.js';
import { path, say } from './texts.js';

/** From a computer to a phone: a code that opens this page there. It is drawn in this browser. */

const pollMs = 4000;
/** A package, which is served as it is published; loaded only where a code is drawn. */
const codes = '/recipient/assets/uqr.js';

/** `onChanged` runs when the phone has sent the pictures; `goOn` continues on this device. */
export async function showHandoff({ onChanged, goOn }) {
  const hasGone = watchScreen();
  let encode;
  try {
    ({ encode } = await import(codes));
  } catch {
    if (!hasGone()) showFailure({ onChanged, goOn });
    return;
  }
  if (hasGone()) return;
  let isLeft = false;
  let timer;
  const poll = async () => {
    const state = await readState();
    if (isLeft) return;
    if (state === undefined || (state !== null && !state.takes_images)) onChanged();
    else timer = setTimeout(() => void poll(), pollMs);
  };
  const end = () => {
    isLeft = true;
    clearTimeout(timer);
  };
  const draw = () => {
    isLeft = false;
    clearTimeout(timer);
    showScreen(
      { title: say('handoff.title'), draw, end },
      paragraph('handoff.text'),
      element('div', { class: 'qr' }, drawCode(encode(location.origin + path))),
      actions(button('handoff.here', goOn)),
    );
    isLeft = false;
    timer = setTimeout(() => void poll(), pollMs);
  };
  draw();
}

/** Without a connection there is no code; this device can still continue. */
function showFailure(more) {
  const draw = () =>
    showScreen(
      { title: say('handoff.title'), draw },
      problems([describeFailure(0)]),
      actions(
        button('tryAgain', () => void showHandoff(more)),
        button('handoff.here', more.goOn),
      ),
    );
  draw();
}

function drawCode({ data, size }) {
  const squares = [];
  for (let y = 0; y < size; y += 1) {
    for (let x = 0; x < size; x += 1) if (data[y][x]) squares.push(`M${x} ${y}h1v1h-1z`);
  }
  const attributes = { role: 'img', 'aria-label': say('handoff.code'), 'aria-hidden': 'false' };
  return drawing(`-2 -2 ${size + 4} ${size + 4}`, squares.join(''), attributes);
}
