import { constants, gzipSync } from 'node:zlib';
import viewer from '@scalar/fastify-api-reference';
import fastify from 'fastify';

/**
 * Writes the viewer's script, packed, to the standard output. The package holds the script as a
 * constant of several megabytes and gives it out as a Fastify plugin; in a process of its own that
 * memory is gone once this is done.
 */
const app = fastify();
await app.register(viewer, { routePrefix: '/viewer', configuration: { url: '/openapi.json' } });
const answer = await app.inject('/viewer/js/scalar.js');
if (answer.statusCode !== 200) throw new Error(`the viewer's script is not there: ${answer.body}`);
process.stdout.write(gzipSync(answer.rawPayload, { level: constants.Z_BEST_COMPRESSION }));
await app.close();
