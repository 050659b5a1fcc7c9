import { drawMark, element } from './elements.js';
import { returnLink, setPage, showScreen, withSender } from './screens.js';
import { firstPage, say } from './texts.js';

/** Shows what the link is for; each kind of page is loaded only where it is needed. */

const kinds = {
  payout_details: () => import('./details.js'),
  verification: () => import('./verification.js'),
  payout_status: () => import('./status.js'),
};

function showGone(page) {
  showScreen(
    { title: say('title.gone'), above: [drawMark('bad')], draw: () => showGone(page) },
    element('p', {}, say(`gone.${page.reason}`, withSender())),
    returnLink(),
  );
}

async function start(page) {
  setPage(page);
  const load = kinds[page.kind];
  if (load === undefined) return showGone(page);
  const { show } = await load();
  return show(page);
}

void start(firstPage);
