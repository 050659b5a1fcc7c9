import { listRoutes } from '../../server/src/routes.ts';
import { buildOpenapi } from './build.ts';
import { readExamples } from './examples.ts';

/** The server that the committed description names: what `npm start` gives. */
const localServerUrl = 'http://127.0.0.1:8080';

/** The description as a file, for those who want it without running the service. */
export function generateDescription(): Map<string, string> {
  const document = buildOpenapi(listRoutes(), {
    serverUrl: localServerUrl,
    examples: readExamples(),
  });
  return new Map([['docs/openapi.json', `${JSON.stringify(document, null, 2)}\n`]]);
}
