import { writeFileSync } from 'node:fs';
import { defineCommand } from '../command.ts';

export const receiptCommands = [
  defineCommand({
    name: 'receipt key',
    about: 'save the public key with which the receipts of the service verify',
    options: {
      file: { value: 'path', about: 'where to (receipt-key.pem, or receipt-keys.json with --all)' },
      all: { about: 'save the present and the former keys, as a key set' },
    },
    examples: ['receipt key', 'receipt key --file pub.pem', 'receipt key --all'],
    next: 'receipt verify receipt.pdf --key receipt-key.pem',
    run: async ({ connect, output, signal }, { file, all }) => {
      const path = file ?? (all ? 'receipt-keys.json' : 'receipt-key.pem');
      const saved = all
        ? Buffer.from(
            `${JSON.stringify(await connect().listReceiptKeys({}, { signal }), null, 2)}\n`,
          )
        : ((await connect().getReceiptKey(
            {},
            { accept: 'application/x-pem-file', signal },
          )) as unknown as Uint8Array);
      writeFileSync(path, saved);
      output.result({ file: path, bytes: saved.length }, () => `Saved ${path}`);
    },
  }),
];
