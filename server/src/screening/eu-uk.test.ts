import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseEu } from './eu.ts';
import type { ListEntry, ParsedList } from './list-entry.ts';
import { parseUk } from './uk.ts';

/** Invented entries in the real formats. */

const euText = (entities: string): string => `<?xml version="1.0" encoding="UTF-8"?>
<export xmlns="http://eu.europa.ec/fpi/fsd/export" generationDate="2026-03-02T11:26:29.001+01:00" globalFileId="1">
${entities}
</export>`;

const euPerson = `<sanctionEntity designationDetails="" unitedNationId="" euReferenceNumber="EU.1.01" logicalId="13">
  <remark>Invented &amp; harmless.</remark>
  <regulation regulationType="amendment" programme="XYZ" logicalId="348"><publicationUrl>http://eur-lex.example</publicationUrl></regulation>
  <subjectType code="person" classificationCode="P"/>
  <nameAlias firstName="" middleName="" lastName="" wholeName="The Miller" strong="false" logicalId="16"/>
  <nameAlias firstName="Timofey" middleName="" lastName="Zverovsky" wholeName="Timofey Zverovsky" strong="true" logicalId="17"/>
  <nameAlias firstName="Тимофей" middleName="" lastName="Зверовский" wholeName="" strong="true" logicalId="18"/>
  <citizenship region="" countryIso2Code="KZ" countryDescription="KAZAKHSTAN" logicalId="2"/>
  <birthdate circa="false" calendarType="GREGORIAN" city="" birthdate="1965-08-12" dayOfMonth="12" monthOfYear="8" year="1965" countryIso2Code="00"/>
  <birthdate circa="false" calendarType="GREGORIAN" city="" year="1966" monthOfYear="2"/>
  <birthdate circa="true" calendarType="GREGORIAN" city="" year="1970"/>
  <birthdate circa="false" calendarType="GREGORIAN" yearRangeFrom="1971" yearRangeTo="1973"/>
</sanctionEntity>`;
const euEnterprise = `<sanctionEntity euReferenceNumber="EU.2.02" logicalId="14">
  <subjectType code="enterprise" classificationCode="E"/>
  <nameAlias wholeName="Quartzbridge Maritime" strong="true" logicalId="20"/>
  <address city="Baku" countryIso2Code="AZ" countryDescription="AZERBAIJAN" logicalId="5"/>
</sanctionEntity>`;

const ukText = (designations: string, generated = '22/01/2026'): string => `<?xml version="1.0"?>
<Designations xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
  <DateGenerated>${generated}</DateGenerated>
  ${designations}
</Designations>`;

const ukPerson = `<Designation>
  <LastUpdated>01/02/2025</LastUpdated><UniqueID>XYZ0001</UniqueID><OFSIGroupID>12345</OFSIGroupID>
  <RegimeName>The Invented (Sanctions) Regulations</RegimeName>
  <IndividualEntityShip>Individual</IndividualEntityShip>
  <Names>
    <Name><Name6>The Miller</Name6><NameType>Alias</NameType><AliasStrength>Low Quality</AliasStrength></Name>
    <Name><Name1>Timofey</Name1><Name2>Arkadyevich</Name2><Name6>ZVEROVSKY</Name6><NameType>Primary Name</NameType></Name>
    <Name><Name1>Timofei</Name1><Name6>ZVEROVSKI</Name6><NameType>Primary Name Variation</NameType></Name>
  </Names>
  <NonLatinNames><NonLatinName><NameNonLatinScript>Тимофей Зверовский</NameNonLatinScript></NonLatinName></NonLatinNames>
  <IndividualDetails><Individual>
    <DOBs><DOB>12/08/1965</DOB><DOB>dd/02/1966</DOB><DOB>dd/mm/1970</DOB></DOBs>
    <Nationalities><Nationality>Kazakhstan</Nationality></Nationalities>
  </Individual></IndividualDetails>
</Designation>`;
const ukEntity = `<Designation><UniqueID>XYZ0002</UniqueID><IndividualEntityShip>Entity</IndividualEntityShip>
  <Names><Name><Name6>Quartzbridge Maritime</Name6><NameType>Primary Name</NameType></Name></Names>
  <Addresses><Address><AddressCountry>Azerbaijan</AddressCountry></Address></Addresses></Designation>`;
const ukShip = `<Designation><UniqueID>XYZ0003</UniqueID><IndividualEntityShip>Ship</IndividualEntityShip>
  <Names><Name><Name6>OCEAN LANTERN</Name6><NameType>Primary Name</NameType></Name></Names></Designation>`;

function read(parsed: ParsedList): readonly ListEntry[] {
  assert.ok(parsed.ok, parsed.ok ? '' : parsed.fault);
  return parsed.entries;
}

const births = [
  { from: '1965-08-12', to: '1965-08-12' },
  { from: '1966-02-01', to: '1966-02-28' },
];

test('an EU entry has its names by strength, dates of birth, countries and programmes', async () => {
  const parsed = await parseEu(euText(euPerson + euEnterprise));
  const [one, two] = read(parsed);
  assert.ok(parsed.ok);
  assert.equal(parsed.publishedAt, '2026-03-02T10:26:29.001Z');
  assert.deepEqual(one, {
    entryId: '13',
    kind: 'person',
    names: [
      { text: 'Timofey Zverovsky', quality: 'primary' },
      { text: 'Тимофей Зверовский', quality: 'alias' },
      { text: 'The Miller', quality: 'weak' },
    ],
    births: [
      ...births,
      { from: '1968-01-01', to: '1972-12-31' },
      { from: '1971-01-01', to: '1973-12-31' },
    ],
    countries: ['KAZ'],
    programmes: ['XYZ'],
    wallets: [],
  });
  assert.deepEqual([two?.kind, two?.countries], ['organisation', ['AZE']]);
});

test('a UK entry has its names by quality and in original script, dates of birth and countries', async () => {
  const parsed = await parseUk(ukText(ukPerson + ukEntity + ukShip));
  const [one, two, ...others] = read(parsed);
  assert.ok(parsed.ok);
  assert.deepEqual([parsed.publishedAt, parsed.skipped], ['2026-01-22T00:00:00.000Z', 1]);
  assert.deepEqual(others, []);
  assert.deepEqual(one, {
    entryId: 'XYZ0001',
    kind: 'person',
    names: [
      { text: 'Timofey Arkadyevich ZVEROVSKY', quality: 'primary' },
      { text: 'The Miller', quality: 'weak' },
      { text: 'Timofei ZVEROVSKI', quality: 'alias' },
      { text: 'Тимофей Зверовский', quality: 'alias' },
    ],
    births: [...births, { from: '1970-01-01', to: '1970-12-31' }],
    countries: ['KAZ'],
    programmes: ['The Invented (Sanctions) Regulations'],
    wallets: [],
  });
  assert.deepEqual([two?.kind, two?.countries], ['organisation', ['AZE']]);
});

test('lists truncated anywhere, of another format or with duplicates are rejected', async () => {
  const [eu, uk] = [euText(euPerson), ukText(ukPerson)];
  for (let end = 0; end < eu.length - 1; end += 97)
    assert.equal((await parseEu(eu.slice(0, end))).ok, false);
  for (let end = 0; end < uk.length - 1; end += 97)
    assert.equal((await parseUk(uk.slice(0, end))).ok, false);
  const faults = [
    await parseEu(uk),
    await parseUk(eu),
    await parseEu(euText(euPerson + euPerson)),
    await parseUk(ukText(ukPerson + ukPerson)),
    await parseEu(euText('')),
    await parseUk(ukText(ukPerson, 'soon')),
    await parseEu(`<!DOCTYPE export [<!ENTITY a "b">]>${euText(euPerson)}`),
  ];
  assert.deepEqual(
    faults.map(({ ok }) => ok),
    faults.map(() => false),
  );
});
