import { getCurrency } from '../../core/currency.ts';
import { formatFixed } from '../kit/amounts.ts';
import type { RegulatoryReport } from './purpose.ts';
import type { Address } from './recipient.ts';
import type { Transfer } from './transfer.ts';
import { element, optionalText, textElement } from './xml.ts';

/** Parts that pain.001 and pacs.008 have in common. */

/** Purpose, regulatory report and remittance text, the last elements of a transfer. */
export function writeDetails(transfer: Transfer): readonly (string | undefined)[] {
  const { purpose, regulatoryReport, remittance } = transfer;
  return [
    purpose === undefined
      ? undefined
      : element('Purp', [
          'code' in purpose
            ? textElement('Cd', purpose.code)
            : textElement('Prtry', purpose.proprietary),
        ]),
    regulatoryReport === undefined ? undefined : writeReport(regulatoryReport),
    remittance === '' ? undefined : element('RmtInf', [textElement('Ustrd', remittance)]),
  ];
}

function writeReport(report: RegulatoryReport): string {
  const { indicator, authority, authorityCountry, type, country, code } = report;
  const hasAuthority = authority !== '' || authorityCountry !== '';
  return element('RgltryRptg', [
    textElement('DbtCdtRptgInd', indicator),
    hasAuthority
      ? element('Authrty', [optionalText('Nm', authority), optionalText('Ctry', authorityCountry)])
      : undefined,
    element('Dtls', [
      optionalText('Tp', type),
      optionalText('Ctry', country),
      textElement('Cd', code),
    ]),
  ]);
}

export function writeAddress(address: Address): string {
  return element('PstlAdr', [
    optionalText('StrtNm', address.street),
    optionalText('BldgNm', address.building),
    optionalText('PstCd', address.postalCode),
    optionalText('TwnNm', address.town),
    optionalText('CtrySubDvsn', address.subdivision),
    textElement('Ctry', address.country),
  ]);
}

/** The control sum: of the numbers, regardless of their currencies, as the standard defines it. */
export function sumTransfers(
  transfers: readonly Pick<Transfer, 'amountMinor' | 'currency'>[],
): string {
  const scales = transfers.map(({ currency }) => getCurrency(currency).scale);
  const scale = Math.max(0, ...scales);
  let sum = 0n;
  for (const { amountMinor, currency } of transfers) {
    sum += amountMinor * 10n ** BigInt(scale - getCurrency(currency).scale);
  }
  return formatFixed(sum, scale);
}
