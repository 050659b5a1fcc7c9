/**
 * What the simulated network does where: lists of ISO 3166-1 alpha-3 codes. Bank deposit and
 * cryptocurrency are everywhere, so they need no list.
 */

function readCodes(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/));
}

/** `MEX:11500 GTM:3200`: a whole number per country. */
function readNumbers(text: string): ReadonlyMap<string, number> {
  const numbers = new Map<string, number>();
  for (const entry of text.trim().split(/\s+/)) {
    const [code = '', number = ''] = entry.split(':');
    numbers.set(code, Number(number));
  }
  return numbers;
}

/** The corridors with the most traffic, hence the lowest prices. */
export const mainCorridors = readCodes(`
  ARG AUS BGD BRA CAN CHN COL DEU DOM EGY ESP FRA GBR GHA GTM IDN IND ITA JPN KEN MAR MEX NGA NLD
  PAK PHL POL THA USA VNM
`);

/** Few people and few banks: prices twice those of the main corridors. */
export const remoteCorridors = readCodes(`
  AIA ALA ASM ATA ATF BES BLM BVT CCK COK CXR ESH FLK FRO FSM GLP GRL GUF GUM HMD IOT KIR MAF MHL
  MNP MSR MTQ MYT NFK NIU NRU PCN PLW PRK PYF NCL SGS SHN SJM SPM STP SYR TKL TON TUV UMI VAT VGB
  VIR VUT WLF WSM SLB SMR LIE AND MCO GIB
`);

/** Where banks usually keep dollar accounts beside those in the national currency. */
export const dollarAccounts = readCodes(`
  ABW ARE ARM BES BHS BLZ BMU BRB COD CRI CUW CYM DOM GEO GTM HKG HND HTI IRQ KHM LBN LBR NIC PAN
  PER SGP SOM SXM TTO URY VEN ZWE
`);

/** Where accounts are credited within minutes, on every day of the year. */
export const instantClearing = readCodes(`
  ARE ARG AUS AUT BEL BGR BHR BRA CHE CHL CHN COL CRI CYP CZE DEU DNK EGY ESP EST FIN FRA GBR GHA
  GRC HKG HRV HUN IDN IND IRL ITA JOR KEN KHM KOR LKA LTU LUX LVA MEX MLT MYS NGA NLD NOR PAK PER
  PHL POL PRT ROU SAU SGP SVK SVN SWE THA TUR TWN USA VNM ZAF
`);

/** Cash pickup: the number of places of the largest network in the country. */
export const cashLocations = readNumbers(`
  MEX:11500 GTM:3200 HND:2100 SLV:1400 NIC:900 CRI:700 PAN:450 BLZ:60 DOM:1900 HTI:850 JAM:420
  TTO:110 BRB:40 LCA:25 VCT:20 GRD:18 DMA:15 KNA:14 ATG:16 BHS:45 CUB:60 GUY:130 SUR:50 ABW:20
  CUW:22 SXM:10 CYM:12 TCA:8 COL:9800 VEN:600 ECU:2400 PER:4300 BOL:1300 PRY:1150 URY:480 ARG:2600
  CHL:900 BRA:7200
  NGA:5600 GHA:2300 KEN:3900 UGA:2100 TZA:2400 RWA:520 BDI:180 ETH:2800 SOM:640 DJI:70 ERI:40
  SDN:420 SSD:110 COD:900 COG:240 CMR:1900 GAB:210 TCD:260 CAF:90 GNQ:60 STP:15 SEN:2700 MLI:1350
  CIV:2250 BFA:980 BEN:760 TGO:690 NER:540 GIN:620 GNB:130 GMB:310 SLE:390 LBR:360 MRT:250 CPV:120
  ZAF:2100 ZWE:880 ZMB:740 MWI:430 MOZ:610 AGO:520 NAM:160 BWA:150 LSO:140 SWZ:90 MDG:700 COM:80
  MUS:130 SYC:20
  MAR:6900 DZA:1300 TUN:1450 LBY:160 EGY:4200 JOR:820 LBN:640 PSE:310 IRQ:720 SYR:140 YEM:860
  SAU:480 ARE:900 KWT:210 QAT:180 BHR:160 OMN:230 ISR:260 TUR:3100
  IND:14800 PAK:12600 BGD:8700 LKA:3300 NPL:6100 BTN:35 MDV:30 AFG:480 PHL:17500 VNM:4600 IDN:8900
  THA:3600 KHM:1500 LAO:320 MMR:690 MYS:1700 SGP:190 TLS:45 CHN:5200 HKG:260 MNG:280 KOR:350 FJI:160
  PNG:140 WSM:45 TON:40 SLB:25 VUT:28
  KAZ:1250 KGZ:680 TJK:560 UZB:1480 TKM:70 AZE:720 ARM:610 GEO:940 MDA:830 UKR:2600 BLR:180 RUS:3400
  ALB:740 BIH:520 MKD:430 MNE:150 SRB:980 ROU:2100 BGR:890 HRV:360 HUN:420 POL:1900
  ESP:1600 ITA:2200 PRT:700 GRC:650 FRA:1300 DEU:1100 GBR:1500 USA:6200 CAN:800
`);

/** Mobile wallets: the places that pay in and out, in countries where phones really hold money. */
export const walletLocations = readNumbers(`
  KEN:240000 TZA:180000 UGA:160000 RWA:52000 BDI:9000 ETH:120000 SOM:14000 GHA:210000 CIV:90000
  SEN:85000 MLI:60000 BFA:55000 BEN:50000 TGO:30000 NER:18000 GIN:25000 GNB:4000 GMB:6000 SLE:12000
  LBR:11000 CMR:95000 COG:15000 COD:60000 GAB:9000 TCD:7000 CAF:2500 MDG:32000 MOZ:70000 ZMB:110000
  MWI:65000 ZWE:48000 LSO:8000 SWZ:7000 BWA:6000 NAM:5000 NGA:130000 EGY:150000 MAR:12000 TUN:4000
  JOR:9000 PSE:3000 IRQ:16000 YEM:8000 SDN:11000 SSD:2500 AFG:4000 PAK:220000 BGD:310000 NPL:45000
  LKA:26000 IND:400000 MDV:500 PHL:280000 IDN:320000 VNM:140000 THA:90000 KHM:70000 LAO:9000
  MMR:60000 MYS:50000 CHN:500000 TLS:900 FJI:1800 PNG:2200 WSM:400 TON:300 SLB:300 VUT:350 MNG:6000
  HTI:14000 HND:9000 SLV:6000 GTM:7000 NIC:2500 PRY:12000 BOL:8000 PER:15000 COL:22000 DOM:3000
  JAM:900 ARG:18000 MEX:20000 KGZ:9000 UZB:11000 TJK:5000 ARM:4000 GEO:8000 KAZ:7000
`);

/** A second, app-based wallet beside that of the telephone companies. */
export const appWallets = readCodes(`
  ARG BGD CHN CIV COL EGY ETH GHA IDN IND KEN KHM MAR MEX MYS NPL PAK PER PHL SEN THA UGA VNM
`);

export const homeDelivery = readCodes(`
  BGD COL DOM DZA ECU EGY ETH GTM HND HTI IDN JOR LBN LKA MAR MEX NPL PER PHL PRY SLV TUN VNM
`);

export const paperCheck = readCodes(`
  ASM AUS BRB BHS BMU CAN CYM FRA GBR GUM HKG IND IRL JAM LBN MYS NZL PRI SGP TTO USA VIR ZAF
`);

/** Bills of utilities and schools, paid by their reference number. */
export const billPayment = readCodes('BRA COL DOM GTM IND KEN MEX NGA PER PHL');

/** Conflict or no national identity register: recipients who collect cash are verified for every amount. */
export const alwaysVerified = readCodes('AFG LBY MMR SDN SOM SSD SYR YEM');

/** Currencies that move within minutes: quotes hold for five. */
export const shortRateLock = readCodes('LBN VEN ZWE');

const fridaySaturday = readCodes(`
  BGD BHR DJI DZA EGY IRQ ISR JOR KWT LBY MDV OMN PSE QAT SAU SDN SYR YEM
`);
const thursdayFriday = readCodes('AFG IRN SOM');

/** The days on which banks rest, 0 = Sunday. The Emirates moved to Saturday and Sunday in 2022. */
export function getWeekend(countryCode: string): readonly number[] {
  if (fridaySaturday.has(countryCode)) return [5, 6];
  if (thursdayFriday.has(countryCode)) return [4, 5];
  if (countryCode === 'BRN') return [5, 0];
  if (countryCode === 'NPL') return [6];
  return [6, 0];
}

/** The one day on which shops that pay out cash rest. */
export function getShopWeekend(countryCode: string): readonly number[] {
  const weekend = getWeekend(countryCode);
  if (weekend.includes(5)) return [5];
  return weekend.includes(0) ? [0] : weekend;
}
