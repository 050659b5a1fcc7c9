import { allLocales, Faker, type LocaleDefinition } from '@faker-js/faker';
import { asPerson, type Chance, createChance, pick } from './cases.ts';
import { regions } from './names.ts';
import { type Asked, drawBirth, type Part, partOf } from './samples.ts';

/**
 * Ordinary names: those of Faker's locales, drawn evenly from its lists, and the commonest names of ten
 * regions, which meet listed names far more often. True frequencies are not at hand; ordinary customers
 * are somewhere between the two.
 */

/** Faker's locales with person names of their own, by script, with an alpha-3 country. */
const locales: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Latin: {
    az: 'AZE',
    cs_CZ: 'CZE',
    da: 'DNK',
    de: 'DEU',
    en: 'USA',
    en_GH: 'GHA',
    en_IN: 'IND',
    en_NG: 'NGA',
    en_ZA: 'ZAF',
    es: 'ESP',
    es_MX: 'MEX',
    fi: 'FIN',
    fr: 'FRA',
    fr_SN: 'SEN',
    hr: 'HRV',
    hu: 'HUN',
    id_ID: 'IDN',
    it: 'ITA',
    lv: 'LVA',
    nb_NO: 'NOR',
    nl: 'NLD',
    pl: 'POL',
    pt_BR: 'BRA',
    pt_PT: 'PRT',
    ro: 'ROU',
    sk: 'SVK',
    sr_RS_latin: 'SRB',
    sv: 'SWE',
    tr: 'TUR',
    uz_UZ_latin: 'UZB',
    vi: 'VNM',
    yo_NG: 'NGA',
  },
  Cyrillic: { mk: 'MKD', ru: 'KAZ', uk: 'UKR' },
  Arabic: { ar: 'EGY', fa: 'AFG', ku_ckb: 'IRQ', ur: 'PAK' },
  Hebrew: { he: 'ISR' },
  Han: { zh_CN: 'CHN', zh_TW: 'TWN' },
  Japanese: { ja: 'JPN' },
  Hangul: { ko: 'KOR' },
  Greek: { el: 'GRC' },
  Georgian: { ka_GE: 'GEO' },
  Armenian: { hy: 'ARM' },
  Thai: { th: 'THA' },
  Thaana: { dv: 'MDV' },
  Devanagari: { ne: 'NPL' },
};

/** Written without a space, the family name first. */
const isJoined = (locale: string): boolean => ['zh_CN', 'zh_TW', 'ja', 'ko'].includes(locale);

export const isCommonest = (group: string): boolean => group.startsWith('common: ');

function openLocale(name: string, seed: number): Faker {
  const own = (allLocales as Readonly<Record<string, LocaleDefinition>>)[name];
  if (own === undefined) throw new Error(`Faker has no locale ${name}`);
  return new Faker({ locale: [own, allLocales.en, allLocales.base], seed });
}

/** Few locales have another script, and one per cent of few names cannot be seen. */
const otherScripts = 3;
const commonFactor = 2;

/**
 * Distinct names, `count` from each locale in Latin letters and more from the others. The group is the
 * script and the locale.
 */
function drawFaker(count: number): Asked[] {
  const chance = createChance(11);
  return Object.entries(locales).flatMap(([script, countries]) =>
    Object.entries(countries).flatMap(([locale, countryCode], index) => {
      const faker = openLocale(locale, 1_000 + index);
      const wanted = countFor(script, count);
      const names = drawDistinct(wanted, () => {
        const [given, family] = [faker.person.firstName(), faker.person.lastName()];
        return isJoined(locale) ? `${family}${given}` : `${given} ${family}`;
      });
      return names.map((text) =>
        describe(text, { group: `${script}: ${locale}`, countryCode, part: partOf(text) }, chance),
      );
    }),
  );
}

function countFor(script: string, count: number): number {
  return script === 'Latin' ? count : otherScripts * count;
}

/** Fewer where a locale has few names. */
function drawDistinct(count: number, draw: () => string): string[] {
  const names = new Set<string>();
  for (let tries = 0; tries < 4 * count && names.size < count; tries += 1) names.add(draw());
  return [...names];
}

function describe(
  text: string,
  given: { group: string; countryCode: string; part: Part },
  chance: Chance,
): Asked {
  const { group, countryCode, part } = given;
  const person = { ...asPerson(text), dateOfBirth: drawBirth(chance), countryCode };
  return { part, kind: 'person', group, person };
}

/** Distinct names of the commonest words of each region. */
function drawCommonest(count: number): Asked[] {
  const chance = createChance(12);
  return regions.flatMap((region) => {
    const some = (from: readonly string[], many: number): string[] =>
      Array.from({ length: many }, () => pick(from, chance));
    const names = drawDistinct(commonFactor * count, () =>
      [...some(region.given, region.givenCount), ...some(region.family, region.familyCount)].join(
        ' ',
      ),
    );
    return names.map((text) => {
      const group = `common: ${region.name}`;
      return describe(text, { group, countryCode: region.country, part: partOf(text) }, chance);
    });
  });
}

export function drawOrdinaryPersons(count: number): Asked[] {
  return [...drawFaker(count), ...drawCommonest(count)];
}

const first = words(
  'Golden Silver Blue Green Royal Star Sun Sky Ocean River Mountain Eagle Falcon Lion Horizon Unity Prime Apex ' +
    'Summit Delta Alpha Omega Global United First Modern Premier Smart Bright Crystal Diamond Pearl Emerald Orient ' +
    'Atlas Pioneer Victory Liberty Future Heritage Classic Elite Grand Central Pacific Atlantic Northern Southern ' +
    'Eastern Western Al-Noor Al-Amal Al-Salam Al-Baraka Nova Aurora Phoenix Titan Orion Vega Sigma Metro Capital',
);
const business = words(
  'Trading Construction Shipping Logistics Engineering Import-Export Consulting Technologies Foods Pharmacy ' +
    'Electronics Textiles Motors Services Investments Energy Petroleum Mining Transport Travel Hotel Restaurant ' +
    'Bakery Furniture Printing Media Software Insurance Properties Development Industries Chemicals Steel Plastics',
);
const forms = words('LLC Ltd Inc GmbH SA SARL Co Corporation FZE Pvt JSC BV PLC');
const towns = words(
  'Dubai Istanbul Nairobi Lagos London Madrid Lima Bogota Manila Karachi Delhi Cairo Moscow Shanghai Beirut Kabul',
);

function words(text: string): string[] {
  return text.split(' ');
}

/** Invented organisations of common words; no register of companies was at hand. */
function drawInvented(count: number): string[] {
  const chance = createChance(13);
  return drawDistinct(count, () => {
    const line = pick(business, chance);
    const form = pick(forms, chance);
    const family = pick(pick(regions, chance).family, chance);
    switch (Math.floor(chance() * 5)) {
      case 0:
        return `${pick(first, chance)} ${line} ${form}`;
      case 1:
        return `${pick(first, chance)} ${pick(first, chance)} ${line} ${form}`;
      case 2:
        return `${family} ${line} ${form}`;
      case 3:
        return `${pick(first, chance)} ${pick(towns, chance)} ${line} ${form}`;
      default:
        return `${family} & Sons ${line} ${pick(business, chance)}`;
    }
  });
}

export function drawOrdinaryOrganisations(count: number): Asked[] {
  const invented = drawInvented(8 * count).map((text) => ({ text, group: 'invented' }));
  const made = Object.entries(locales).flatMap(([script, countries]) =>
    Object.keys(countries).flatMap((locale, index) => {
      const faker = openLocale(locale, 2_000 + index);
      const names = drawDistinct(countFor(script, Math.ceil(count / 3)), () =>
        faker.company.name(),
      );
      return names.map((text) => ({ text, group: `${script}: ${locale}` }));
    }),
  );
  return [...invented, ...made].map(({ text, group }) => ({
    part: partOf(text),
    kind: 'organisation',
    group,
    person: { ...asPerson(''), businessName: text },
  }));
}
