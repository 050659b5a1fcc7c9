import { writeFileSync } from 'node:fs';
import { defineCommand } from '../command.ts';

export const receiptCommands = [
  defineCommand({
    name: 'receipt key',
    about: 'save the public key with which the receipts of the service verify',
    options: { file: { value: 'path', about: 'where to (receipt-key.pem)' } },
    examples: ['receipt key', 'receipt key --file pub.pem'],
    next: 'receipt verify receipt.pdf --key receipt-key.pem',
    run: async ({ connect, output, signal }, { file = 'receipt-key.pem' }) => {
      const key: unknown = await connect().getReceiptKey(
        {},
        { accept: 'application/x-pem-file', signal },
      );
      const bytes = key as Uint8Array;
      writeFileSync(file, bytes);
      output.result({ file, bytes: bytes.length }, () => `Saved ${file}`);
    },
  }),
];
