import { choice, countryList, setting, text, wholeNumber } from './config-values.ts';

/** Settings of sanctions lists and of countries that are not paid (docs/guides/screening.md). */
export const screeningSettings = {
  OUTLAY_SCREENING_OFAC_SDN: setting(
    text,
    'Sanctions: the SDN list of OFAC as CSV, a file or URL; requires the next one too',
    'https://sanctionslistservice.ofac.treas.gov/api/PublicationPreview/exports/SDN.CSV',
  ),
  OUTLAY_SCREENING_OFAC_ALT: setting(
    text,
    'Sanctions: the aliases of the SDN list',
    'https://sanctionslistservice.ofac.treas.gov/api/PublicationPreview/exports/ALT.CSV',
  ),
  OUTLAY_SCREENING_OFAC_COMMENTS: setting(
    text,
    'Sanctions: the rest of long remarks of the SDN list, with wallet addresses; recommended',
    'https://sanctionslistservice.ofac.treas.gov/api/PublicationPreview/exports/SDN_COMMENTS.CSV',
  ),
  OUTLAY_SCREENING_UN: setting(
    text,
    'Sanctions: the consolidated list of the United Nations as XML, a file or URL',
    'https://scsanctions.un.org/resources/xml/en/consolidated.xml',
  ),
  OUTLAY_SCREENING_EU: setting(
    text,
    'Sanctions: the consolidated list of the European Union as XML 1.1, a file or URL',
    'lists/xmlFullSanctionsList_1_1.xml',
  ),
  OUTLAY_SCREENING_UK: setting(
    text,
    'Sanctions: the UK Sanctions List as XML, a file or URL',
    'https://sanctionslist.fcdo.gov.uk/docs/UK-Sanctions-List.xml',
  ),
  OUTLAY_SCREENING_COUNTRIES: setting(
    countryList,
    'Countries to which payouts are held, as alpha-3 codes with spaces (docs/guides/screening.md)',
    'CUB IRN PRK SYR',
  ),
  OUTLAY_SCREENING_SERVICE: setting(
    text,
    'Staging: a service that gives a second opinion on payouts, with the bearer token as its password; none when empty (docs/guides/screening.md)',
    'https://:token@screening.example.com/screenings',
  ),
  OUTLAY_LIVE_SCREENING_SERVICE: setting(text, 'The same for live', ''),
  OUTLAY_SCREENING_SERVICE_MODE: setting(
    choice(['hold', 'record'], 'hold'),
    'hold: a payout waits for its answer, and its hit or its silence holds the payout; record: its answer is for the person who decides',
    'hold',
  ),
  OUTLAY_SCREENING_THRESHOLD: setting(
    wholeNumber({ min: 500, max: 1000, otherwise: 870 }),
    'Score, of 1000, from which a name is a hit (docs/guides/screening.md)',
    '870',
  ),
  OUTLAY_SCREENING_DAYS_MAX: setting(
    wholeNumber({ min: 1, max: 366, otherwise: 7 }),
    'Nothing is sent when a configured list was last read more than this many days ago',
    '7',
  ),
};

/** What is wrong between the lists: OFAC publishes one list as several files. */
export function findScreeningFault(config: {
  readonly OUTLAY_SCREENING_OFAC_SDN: string | undefined;
  readonly OUTLAY_SCREENING_OFAC_ALT: string | undefined;
  readonly OUTLAY_SCREENING_OFAC_COMMENTS: string | undefined;
}): string | undefined {
  const {
    OUTLAY_SCREENING_OFAC_SDN: sdn,
    OUTLAY_SCREENING_OFAC_ALT: alt,
    OUTLAY_SCREENING_OFAC_COMMENTS: comments,
  } = config;
  if ((sdn === undefined) !== (alt === undefined)) {
    return 'OUTLAY_SCREENING_OFAC_SDN and OUTLAY_SCREENING_OFAC_ALT must be set together';
  }
  if (comments !== undefined && sdn === undefined) {
    return 'OUTLAY_SCREENING_OFAC_COMMENTS requires OUTLAY_SCREENING_OFAC_SDN';
  }
  return undefined;
}
