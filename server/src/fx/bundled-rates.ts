import { getRate, multiplyRates, type Rate } from '../core/rate.ts';
import type { RateQuote } from './rate-book.ts';

/**
 * Rates for a staging environment without a network, as of one day. They are ILLUSTRATIVE:
 * plausible, but written by hand and not from any market, and must never be used for real money. A
 * live environment does not read this file.
 */
export const bundledAsOfMs = Date.UTC(2026, 9, 30, 14);

/** Units of the currency for one US dollar. */
const perDollar = `
  AFN 66.2    ALL 83.4    AMD 382.5   AOA 912     ARS 1465    AUD 1.512   AZN 1.7     BDT 122.1
  BIF 2955    BOB 6.91    BRL 5.36    BWP 13.4    BYN 2.98    CAD 1.385   CDF 2240    CHF 0.7985
  CLP 938     CNY 7.06    COP 3870    CRC 502     CZK 20.95   DKK 6.4385  DOP 63.2    DZD 129.8
  EGP 47.6    ETB 154.5   EUR 0.8625  FJD 2.26    GBP 0.7575  GEL 2.71    GHS 11.1    GMD 73.2
  GNF 8690    GTQ 7.66    GYD 209.2   HNL 26.3    HTG 130.9   HUF 331     IDR 16620   ILS 3.24
  INR 88.9    IRR 1120000 ISK 124.8   JMD 160.6   JPY 152.4   KES 129.2   KGS 87.4    KHR 4010
  KPW 900     KRW 1428    KYD 0.8333  KZT 527     LAK 21650   LKR 305.2   LRD 182.5   LYD 5.44
  MAD 9.24    MDL 16.95   MGA 4470    MKD 53.1    MMK 2100    MNT 3575    MRU 39.8    MUR 45.6
  MVR 15.42   MWK 1734    MXN 18.52   MYR 4.19    MZN 63.9    NGN 1448    NIO 36.75   NOK 10.06
  NZD 1.742   PEN 3.38    PGK 4.25    PHP 58.6    PKR 281.4   PLN 3.665   PYG 7080    RON 4.388
  RSD 101.1   RUB 81.2    RWF 1452    SBD 8.24    SCR 14.1    SDG 600.5   SEK 9.44    SGD 1.3005
  SLE 23.2    SOS 571     SRD 38.6    SSP 4650    SVC 8.75    SYP 11050   THB 32.4    TJS 9.23
  TND 2.93    TOP 2.38    TRY 42.1    TTD 6.78    TWD 30.7    TZS 2465    UAH 41.9    UGX 3480
  UYU 39.8    UZS 12050   VES 228.5   VND 26290   VUV 121.4   WST 2.78    YER 239     ZAR 17.35
  ZMW 22.3    ZWG 26.4    KWD 0.3068
`;

/** US dollars for one coin. */
const dollarsPerCoin =
  'BTC 101500  LTC 96.4  ETH 3620  POL 0.18  BNB 910  SOL 158  ' +
  'USDC 1  USDT 1  EURC 1.16  PYUSD 1';

/**
 * Currencies whose rate to another one is fixed by law, a currency board, or a peg that has held
 * for years, in units for one of the other.
 */
const pegged = {
  USD: `
    AED 3.6725  ANG 1.79    AWG 1.79    BBD 2       BHD 0.376   BMD 1       BSD 1       BZD 2
    CUC 1       CUP 24      DJF 177.721 ERN 15      HKD 7.78    IQD 1310    JOD 0.709   LBP 89500
    OMR 0.3845  PAB 1       QAR 3.64    SAR 3.75    TMT 3.5     XCD 2.7     XCG 1.79`,
  EUR: `
    BAM 1.95583 BGN 1.95583 CVE 110.265 KMF 491.96775 STN 24.5  XAF 655.957 XOF 655.957
    XPF 119.331742`,
  GBP: 'FKP 1  GIP 1  SHP 1',
  HKD: 'MOP 1.03',
  INR: 'BTN 1  NPR 1.6',
  SGD: 'BND 1',
  VES: 'VED 1',
  ZAR: 'LSL 1  NAD 1  SZL 1',
} as const;

/** Quotes of every currency that Outlay knows against the US dollar, except the dollar itself. */
export const bundledQuotes: readonly RateQuote[] = listQuotes();

function listQuotes(): RateQuote[] {
  const rates = new Map<string, Rate>([['USD', getRate('1')], ...readTable(perDollar)]);
  // Anchors precede the currencies pegged to them, so that one pass is enough.
  for (const [anchor, table] of Object.entries(pegged)) {
    const anchorRate = rates.get(anchor);
    if (anchorRate === undefined) throw new Error(`no rate of the anchor ${anchor}`);
    for (const [code, rate] of readTable(table)) rates.set(code, multiplyRates(anchorRate, rate));
  }
  rates.delete('USD');
  const origin = { source: 'bundled', asOfMs: bundledAsOfMs };
  const national = [...rates].map(([quote, rate]) => ({ base: 'USD', quote, rate, ...origin }));
  const coins = readTable(dollarsPerCoin).map(([base, rate]) => ({
    base,
    quote: 'USD',
    rate,
    ...origin,
  }));
  return [...national, ...coins];
}

function readTable(table: string): [string, Rate][] {
  const entries = [...table.matchAll(/([A-Z]{2,12})\s{1,9}([\d.]+)/g)];
  return entries.map(([, code = '', rate = '']) => [code, getRate(rate)]);
}
