import { writeFile } from 'node:fs/promises';
import { startService } from '../service.ts';
import { examplesFile, recordExamples, recordedSettings } from './run-steps.ts';

/**
 * Records the examples of the description anew, from a service that it starts for that. Run it
 * when answers have changed, and `npm run generate` after it:
 *
 *     npm run record
 */

const service = await startService({ isEmbedded: true, settings: recordedSettings });
try {
  const examples = await recordExamples(service);
  await writeFile(examplesFile, `${JSON.stringify(examples, null, 2)}\n`);
} finally {
  await service.stop();
}
