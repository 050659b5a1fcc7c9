import { randomBytes } from 'node:crypto';
import { createAccount } from '../../src/accounts/accounts.ts';
import { newId } from '../../src/core/ids.ts';
import { createKeyRing } from '../../src/core/sealing.ts';
import { connectDatabase, type Database, type Session } from '../../src/db/postgres/pool.ts';
import {
  importLists,
  type ListReport,
  type ScreenedPerson,
  type Screening,
  type ScreeningOptions,
  screenPersons,
} from '../../src/screening/screening.ts';
import { createUser, prepareUser } from '../../src/users/users.ts';
import { createTestDatabase, patientLimits } from './database.ts';
import { openOwner } from './owner-session.ts';

/** Set-up of screening tests: lists of invented people, in the real formats. */

/** One line of sdn.csv; absent fields are `-0-`. */
export function sdnLine(entry: {
  id: number;
  name: string;
  type?: 'individual' | 'vessel';
  remarks?: string;
}): string {
  const none = '-0- ';
  const { id, name, type, remarks } = entry;
  const cells = [id, `"${name}"`, type === undefined ? none : `"${type}"`, '"SDGT] [NPWMD"'];
  const unused = [none, none, none, none, none, none, none];
  return [...cells, ...unused, remarks === undefined ? none : `"${remarks}"`].join(',');
}

export function altLine(id: number, number: number, name: string): string {
  return `${id},${number},"aka","${name}",-0- `;
}

/** Lines as in the file, with its end mark. */
export function asFile(lines: readonly string[]): string {
  return `${lines.join('\r\n')}\r\n\u001A`;
}

export const sdnLines: readonly string[] = [
  sdnLine({
    id: 101,
    name: 'ZVEROVSKY, Timofey Arkadyevich',
    type: 'individual',
    remarks: "DOB 12 Aug 1965; POB Orsk; nationality Russia; Gender Male; a.k.a. 'THE MILLER'.",
  }),
  sdnLine({
    id: 102,
    name: 'AL-QUMRANI, Idris Hashim',
    type: 'individual',
    remarks: 'DOB circa 1970; alt. DOB 1974 to 1975; nationality Iran; alt. nationality Iraq.',
  }),
  sdnLine({ id: 103, name: 'QUARTZBRIDGE MARITIME TRADING CO., L.L.C. (QMT)' }),
  sdnLine({ id: 104, name: 'OCEAN LANTERN', type: 'vessel', remarks: 'Flag Panama.' }),
  sdnLine({ id: 105, name: 'OBREGOSO PALMADILLO, Evaristo', type: 'individual' }),
];

export const altLines: readonly string[] = [
  altLine(101, 1, 'ZVEROVSKI, Timofei'),
  altLine(102, 2, 'ABDELQADIR, Idriss'),
];

export function unText(options: { generated?: string; more?: string } = {}): string {
  const { generated = '2026-02-27T00:00:09.554Z', more = '' } = options;
  return `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<CONSOLIDATED_LIST xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" dateGenerated="${generated}">
  <INDIVIDUALS>
    <INDIVIDUAL>
      <DATAID>900001</DATAID><VERSIONNUM>1</VERSIONNUM>
      <FIRST_NAME>SULTANBEK</FIRST_NAME><SECOND_NAME>MARAT</SECOND_NAME>
      <THIRD_NAME>ORDUKHANOV</THIRD_NAME>
      <UN_LIST_TYPE>Sample</UN_LIST_TYPE><REFERENCE_NUMBER>XXi.001</REFERENCE_NUMBER>
      <NAME_ORIGINAL_SCRIPT>سلطان اوردوخان</NAME_ORIGINAL_SCRIPT>
      <COMMENTS1>Sells &amp; repairs clocks.</COMMENTS1>
      <NATIONALITY><VALUE>Iran (Islamic Republic of)</VALUE></NATIONALITY>
      <INDIVIDUAL_ALIAS><QUALITY>Good</QUALITY><ALIAS_NAME>Sultan Ordukhan</ALIAS_NAME></INDIVIDUAL_ALIAS>
      <INDIVIDUAL_ALIAS><QUALITY>Low</QUALITY><ALIAS_NAME>The Clockmaker</ALIAS_NAME></INDIVIDUAL_ALIAS>
      <INDIVIDUAL_ALIAS><QUALITY/><ALIAS_NAME/></INDIVIDUAL_ALIAS>
      <INDIVIDUAL_DATE_OF_BIRTH>
        <TYPE_OF_DATE>EXACT</TYPE_OF_DATE><DATE>1978-04-28</DATE>
      </INDIVIDUAL_DATE_OF_BIRTH>
      <INDIVIDUAL_DATE_OF_BIRTH>
        <TYPE_OF_DATE>BETWEEN</TYPE_OF_DATE><FROM_YEAR>1980</FROM_YEAR><TO_YEAR>1981</TO_YEAR>
      </INDIVIDUAL_DATE_OF_BIRTH>
      <INDIVIDUAL_DATE_OF_BIRTH>
        <TYPE_OF_DATE>APPROXIMATELY</TYPE_OF_DATE><YEAR>1990</YEAR>
      </INDIVIDUAL_DATE_OF_BIRTH>
      <INDIVIDUAL_PLACE_OF_BIRTH><COUNTRY/></INDIVIDUAL_PLACE_OF_BIRTH>
      <INDIVIDUAL_DOCUMENT/><SORT_KEY/><SORT_KEY_LAST_MOD/>
    </INDIVIDUAL>${more}
  </INDIVIDUALS>
  <ENTITIES>
    <ENTITY>
      <DATAID>900002</DATAID><VERSIONNUM>1</VERSIONNUM>
      <FIRST_NAME>GREY FALCON BRIGADE 27</FIRST_NAME>
      <UN_LIST_TYPE>Sample</UN_LIST_TYPE><REFERENCE_NUMBER>XXe.001</REFERENCE_NUMBER>
      <ENTITY_ALIAS><QUALITY>f.k.a.</QUALITY><ALIAS_NAME>Grey Falcons</ALIAS_NAME></ENTITY_ALIAS>
      <ENTITY_ADDRESS><CITY>Sana'a</CITY><COUNTRY>Yemen</COUNTRY></ENTITY_ADDRESS>
    </ENTITY>
  </ENTITIES>
</CONSOLIDATED_LIST>`;
}

export type ListTexts = { sdn?: string; alt?: string; un?: string };

const listsAt = 'https://lists.example';

/** Imports the lists of these texts; by default the invented ones. */
export function loadLists(
  db: Database,
  texts: ListTexts = {},
  options: { acceptWarnings?: boolean } = {},
): Promise<ListReport[]> {
  const { sdn = asFile(sdnLines), alt = asFile(altLines), un = unText() } = texts;
  const bodies: Record<string, string> = { '/sdn': sdn, '/alt': alt, '/un': un };
  const answer: typeof fetch = async (input) => {
    const address = input instanceof Request ? input.url : input;
    return new Response(bodies[new URL(address).pathname] ?? '');
  };
  return importLists(
    [
      { list: 'ofac_sdn', sdn: `${listsAt}/sdn`, alt: `${listsAt}/alt` },
      { list: 'un_consolidated', location: `${listsAt}/un` },
    ],
    { db, fetch: answer, nowMs: () => Date.parse('2026-03-01T00:00:00Z'), ...options },
  );
}

/** Screens one person. */
export async function screenPerson(
  session: Session,
  subject: ScreenedPerson,
  options?: ScreeningOptions,
): Promise<Screening> {
  const [screening] = await screenPersons(session, [subject], options);
  if (screening === undefined) throw new Error('unreachable: every person has a screening');
  return screening;
}

export async function createScreeningTest() {
  const database = await createTestDatabase();
  const db = connectDatabase({ ...database, connectionsMax: 6, limits: patientLimits });
  const keys = createKeyRing(randomBytes(32));
  const owner = openOwner(database.url, database.opener);
  /** As the owner of the schema. */
  const rows = async <Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> =>
    (await owner.session.query({ name: '', text }, values)).rows as Row[];
  await rows(`insert into environment (name, master_key_id) values ('staging', 'test')`);
  const load = (texts?: ListTexts, more?: { acceptWarnings?: boolean }): Promise<ListReport[]> =>
    loadLists(db, texts, more);
  const newUser = async (): Promise<{ accountId: string; userId: string }> => {
    const { account: accountId } = await db.systemTransaction((session) =>
      createAccount(session, { name: 'Test', environmentName: 'staging', keys }),
    );
    const user = prepareUser(
      { keys, accountId },
      {
        internal_user_id: newId(),
        country: 'DEU',
        first_name: 'Any',
        last_name: 'Body',
        email: `${newId()}@example.org`,
        metadata: undefined,
      },
    );
    const { id } = await createUser(db.system, user);
    return { accountId, userId: id };
  };
  return {
    db,
    keys,
    rows,
    load,
    newUser,
    [Symbol.asyncDispose]: async (): Promise<void> => {
      await Promise.all([db.close(), owner.close()]);
      await database.drop();
    },
  };
}

export type ScreeningTest = Awaited<ReturnType<typeof createScreeningTest>>;

export function person(
  firstName: string,
  lastName = '',
  more: Partial<ScreenedPerson> = {},
): ScreenedPerson {
  const unknown = { middleName: '', businessName: '', dateOfBirth: '', countryCode: '' };
  return { firstName, lastName, ...unknown, ...more };
}
