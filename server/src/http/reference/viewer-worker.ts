import { parentPort } from 'node:worker_threads';
import { constants, gzipSync } from 'node:zlib';
import viewer from '@scalar/fastify-api-reference';
import fastify from 'fastify';

/**
 * The viewer's package holds its script as a constant of several megabytes and gives it out as a
 * Fastify plugin. In a thread of its own that memory is gone once the script is packed.
 */
const app = fastify();
await app.register(viewer, { routePrefix: '/viewer', configuration: { url: '/openapi.json' } });
const answer = await app.inject('/viewer/js/scalar.js');
if (answer.statusCode !== 200) throw new Error(`the viewer's script is not there: ${answer.body}`);
const packed = gzipSync(answer.rawPayload, { level: constants.Z_BEST_COMPRESSION });
await app.close();
parentPort?.postMessage(packed);
