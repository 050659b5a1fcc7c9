import { type Choices, type Field, field } from './field.ts';

/**
 * Purpose of payment: required for payments from abroad by the exchange control or the
 * balance-of-payments statistics of these countries, with codes if the authority publishes them.
 * Each list holds the purposes of payouts to persons and small suppliers only.
 */

/** For authorities that require the purpose in words, without a code list. */
const commonReasons: Choices = {
  FAMILY_SUPPORT: '',
  SALARY: '',
  SERVICES: '',
  GOODS: '',
  EDUCATION: '',
  MEDICAL: '',
  GIFT: '',
  SAVINGS: '',
  PROPERTY: '',
  OTHER: '',
};

/** Reserve Bank of India, purpose codes of receipts (the P series of the R-return). */
const india: Choices = {
  P1301: 'family maintenance and savings',
  P1302: 'personal gifts and donations',
  P1303: 'donations to institutions',
  P1401: 'compensation of employees',
  P0802: 'software consultancy',
  P1006: 'business and management consultancy',
  P1007: 'advertising and market research',
  P1099: 'other technical and professional services',
  P0102: 'export of goods, realised',
};

/**
 * Central Bank of the UAE, payment purpose codes of the UAE Funds Transfer System; Bahrain's
 * central bank uses the same letters.
 */
const gulf: Choices = {
  FAM: 'family support',
  SAL: 'salary',
  CHC: 'charitable contributions',
  PMS: 'professional and management consulting',
  ITS: 'computer services',
  IFS: 'information services',
  TTS: 'technical, trade-related and other business services',
  GDE: 'goods sold',
  STR: 'travel',
};

/** Central Bank of Jordan, transfer purpose codes. */
const jordan: Choices = {
  '0101': 'invoice payment and purchase',
  '0105': 'personal donations',
  '0106': 'family assistance and expenses',
  '0109': 'savings',
  '0203': 'salary, private sector',
};

/** People's Bank of China, purposes of cross-border payments in renminbi (the code of CIPS). */
const china: Choices = {
  CGODDR: 'trade in goods',
  CSTRDR: 'trade in services',
  COCADR: 'current transfers, such as family support',
};

/** South African Reserve Bank, balance-of-payments reporting categories of receipts. */
const southAfrica: Choices = {
  '400': 'donations',
  '401': 'gifts',
  '416': 'migrant worker remittances',
};

/** By alpha-3. The comments name the authorities. */
const reasonsByCountry: Readonly<Record<string, Choices>> = {
  ARE: gulf,
  BHR: gulf,
  CHN: china,
  IND: india,
  JOR: jordan,
  ZAF: southAfrica,
  // Argentina, Brazil, Colombia: the exchange contract that the central bank requires names it.
  ARG: commonReasons,
  BRA: commonReasons,
  COL: commonReasons,
  // Bangladesh, Nepal, Pakistan, Sri Lanka: the central banks' forms for inward remittances.
  BGD: commonReasons,
  LKA: commonReasons,
  NPL: commonReasons,
  PAK: commonReasons,
  // Indonesia, Malaysia, Thailand, Viet Nam: exchange transaction reports of the central banks.
  IDN: commonReasons,
  MYS: commonReasons,
  THA: commonReasons,
  VNM: commonReasons,
  // Kazakhstan, Russia, Ukraine, Uzbekistan, Belarus: currency control.
  BLR: commonReasons,
  KAZ: commonReasons,
  RUS: commonReasons,
  UKR: commonReasons,
  UZB: commonReasons,
  // Egypt, Morocco, Tunisia, Algeria, Ethiopia: exchange control.
  DZA: commonReasons,
  EGY: commonReasons,
  ETH: commonReasons,
  MAR: commonReasons,
  TUN: commonReasons,
};

/**
 * The sender's relationship to the recipient and the source of the funds: optional, because banks
 * require them against money laundering for large or unusual payments only.
 */
const relationshipUsual = new Set('BGD CHN IDN IND LKA NPL PAK PHL THA VNM'.split(' '));
const sourceUsual = new Set('BGD CHN IDN KAZ NPL PAK PHL RUS THA UKR UZB VNM'.split(' '));

const relationship = field({
  type: 'Relationship',
  label: 'Relationship of the sender to the recipient',
  choices: {
    SELF: '',
    SPOUSE: '',
    PARENT: '',
    CHILD: '',
    SIBLING: '',
    OTHER_RELATIVE: '',
    FRIEND: '',
    EMPLOYER: '',
    CUSTOMER: '',
    OTHER: '',
  },
  isOptional: true,
});

const sourceOfFunds = field({
  type: 'SourceOfFunds',
  label: 'Source of the funds',
  choices: { SALARY: '', BUSINESS: '', SAVINGS: '', SALE: '', LOAN: '', GIFT: '', OTHER: '' },
  isOptional: true,
});

/** The fields that the law of the country requires for any delivery type. */
export function getLegalFields(countryCode: string): readonly Field[] {
  const choices = reasonsByCountry[countryCode];
  const fields: Field[] = [];
  if (choices !== undefined) {
    fields.push(field({ type: 'RemittanceReason', label: 'Purpose of payment', choices }));
  }
  if (relationshipUsual.has(countryCode)) fields.push(relationship);
  if (sourceUsual.has(countryCode)) fields.push(sourceOfFunds);
  return fields;
}
