import { checkNewZealandAccount, normalizeNewZealandAccount } from './check-digits.ts';
import { account, branch, dropHyphens, type Field, routing } from './field.ts';

/** Accounts in Australia, New Zealand and the islands, by alpha-3. */
export const oceanianBanks: Readonly<Record<string, readonly Field[]>> = {
  AUS: [
    routing({
      label: 'BSB',
      pattern: '[0-9]{3}-?[0-9]{3}',
      hint: '6 digits: bank, state and branch, with or without a hyphen in the middle',
      normalize: dropHyphens,
    }),
    account({ digits: [5, 10] }),
  ],
  // Payments NZ: bank 2, branch 4, base 7 and suffix 2 or 3 digits. The library has the
  // check digit scheme of every bank.
  NZL: [
    account({
      pattern: '[0-9]{15,16}|[0-9]{2}-[0-9]{4}-[0-9]{7}-[0-9]{2,3}',
      hint: '15 or 16 digits: bank 2, branch 4, account 7, suffix 2 or 3, with or without hyphens',
      check: checkNewZealandAccount,
      normalize: normalizeNewZealandAccount,
      sampleStart: '010902',
    }),
  ],
  PNG: [routing({ label: 'BSB', digits: 6 }), account({ digits: [7, 16] })],
  // In Fiji, Samoa, Tonga, Vanuatu and Solomon Islands banks are identified by their BIC, so that
  // these countries have the general form.
  NRU: [
    routing({ label: 'BSB', digits: 6, hint: 'Australian code of the agency in Nauru' }),
    account({ digits: [5, 10] }),
  ],
  KIR: [
    routing({ label: 'BSB', digits: 6, hint: 'Australian code of the bank in Kiribati' }),
    account({ digits: [5, 10] }),
    branch({ label: 'Branch number', digits: [2, 6], isOptional: true }),
  ],
};
