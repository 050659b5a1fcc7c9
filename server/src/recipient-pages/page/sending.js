import { readBase64 } from './pictures.js';
import { send } from './screens.js';
import { path } from './texts.js';

/** The order in which the pictures are taken and sent. */
export const types = ['document-front', 'document-back', 'face'];

/** Verification links and recipient links lead to the same page, at addresses of their own. */
const places = path.startsWith('/verify/')
  ? { state: '/status', images: '' }
  : { state: '/state', images: '/images' };

/** The state of the verification; undefined where the link ended, null where nothing was read. */
export async function readState() {
  const { status, body } = await send(places.state);
  if (status === 404) return undefined;
  if (status !== 200) return null;
  if ('kind' in body) return body.kind === 'verification' ? body.verification : undefined;
  return body;
}

/**
 * Sends the pictures, a map of type to blob, and reports progress (0 to 1). Resolves to
 * `{ kind: 'sent' }`, `{ kind: 'changed' }` when the link no longer accepts images, or
 * `{ kind: 'refused', problems: [{ key, type }] }`, where `type` is the picture.
 */
export async function sendPictures(pictures, onProgress) {
  const items = [];
  for (const type of types) items.push({ type, content: await readBase64(pictures.get(type)) });
  const { status, text } = await post(JSON.stringify(items), onProgress);
  if (status === 200) return { kind: 'sent' };
  if (status === 404 || status === 409) return { kind: 'changed' };
  return { kind: 'refused', problems: readProblems(status, text) };
}

/** XMLHttpRequest, because fetch does not report upload progress. */
function post(body, onProgress) {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.open('POST', path + places.images);
    request.setRequestHeader('content-type', 'application/json');
    request.setRequestHeader('accept', 'application/json');
    request.upload.onprogress = (event) => {
      if (event.lengthComputable) onProgress(event.loaded / event.total);
    };
    request.onload = () => resolve({ status: request.status, text: request.responseText });
    request.onerror = () => resolve({ status: 0, text: '' });
    request.onabort = request.onerror;
    request.send(body);
  });
}

function readProblems(status, text) {
  if (status === 0) return [{ key: 'verify.networkProblem' }];
  if (status === 429 || status === 503) return [{ key: 'busy' }];
  if (status === 413) return [{ key: 'verify.largeProblem' }];
  const named = readPointers(text)
    .map((pointer) => types[Number(pointer.split('/')[1])])
    .filter((type) => type !== undefined)
    .map((type) => ({ key: 'verify.imageProblem', type }));
  return named.length > 0 ? named : [{ key: 'serverProblem' }];
}

/** The pointers of the faults in a problem answer (RFC 9457). */
function readPointers(text) {
  try {
    const { errors = [] } = JSON.parse(text);
    return errors.map((error) => String(error.pointer ?? ''));
  } catch {
    return [];
  }
}
