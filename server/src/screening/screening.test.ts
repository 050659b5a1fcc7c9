import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  altLines,
  asFile,
  createScreeningTest,
  person,
  type ScreeningTest,
  screenPerson,
  sdnLines,
} from '../../testing/setups/screening.ts';
import { createScreeningCache, type ScreenedPerson, screenPersons } from './screening.ts';

let screening: ScreeningTest;
before(async () => {
  screening = await createScreeningTest();
  await screening.load();
});
after(async () => screening[Symbol.asyncDispose]());

async function findIds(subject: ScreenedPerson): Promise<string[]> {
  const { hits } = await screenPerson(screening.db.system, subject);
  return hits.map(({ entryId }) => entryId);
}

test('a listed name is found in any spelling', async () => {
  const spellings = [
    person('Timofey', 'Zverovsky'),
    person('ZVEROVSKY', 'TIMOFEY'),
    person('Timofey', 'Zverovsky', { middleName: 'Arkadyevich' }),
    person('Timofej', 'Zverovskij'),
    person('Тимофей', 'Зверовский'),
    person('T. Arkadyevich', 'Zverovsky'),
    person('Timofey Arkadyevichh', 'Zverowsky'),
  ];
  for (const subject of spellings) {
    assert.deepEqual(await findIds(subject), ['101'], `${subject.firstName} ${subject.lastName}`);
  }
});

test('a hit names the list, entry and listed name, and has no data of the person', async () => {
  const subject = person('Timofej', 'Zverovskij', {
    dateOfBirth: '1965-08-12',
    countryCode: 'RUS',
  });
  const { hits, isHit, lists, topScorePermille } = await screenPerson(screening.db.system, subject);
  const [hit] = hits;
  assert.equal(isHit, true);
  assert.equal(topScorePermille, hit?.scorePermille);
  assert.deepEqual(
    lists.versions.map(({ list }) => list),
    ['ofac_sdn', 'un_consolidated'],
  );
  assert.deepEqual(
    { ...hit, entryHash: '', scorePermille: 0 },
    {
      list: 'ofac_sdn',
      entryHash: '',
      version: lists.versions[0]?.version,
      entryId: '101',
      name: 'Timofey Arkadyevich ZVEROVSKY',
      kind: 'person',
      programmes: ['SDGT', 'NPWMD'],
      scorePermille: 0,
      matchedOn: {
        field: 'person_name',
        listedName: 'Timofei ZVEROVSKI',
        quality: 'alias',
        dateOfBirth: 'same',
        country: 'same',
      },
    },
  );
  assert.match(hit?.entryHash ?? '', /^[0-9a-f]{64}$/);
  assert.ok(!JSON.stringify(hits).includes('Zverovskij'));
});

test('a matching date of birth raises the score, a distant one lowers it', async () => {
  const scoreOf = async (dateOfBirth: string): Promise<number> => {
    const subject = person('Timofe', 'Zveroowskiy', { dateOfBirth });
    return (await screenPerson(screening.db.system, subject)).topScorePermille;
  };
  const [same, near, unknown, far] = [
    await scoreOf('1965-08-12'),
    await scoreOf('1966-11-02'),
    await scoreOf(''),
    await scoreOf('1999-01-01'),
  ];
  assert.ok(same > near && near > unknown && unknown > far, `${same} ${near} ${unknown} ${far}`);
});

test('a listed name in full is a hit even with another date of birth and country', async () => {
  const subject = person('Timofey', 'Zverovsky', {
    middleName: 'Arkadyevich',
    dateOfBirth: '1999-01-01',
    countryCode: 'PRT',
  });
  assert.deepEqual(await findIds(subject), ['101']);
});

test('organisations are found by business name, with and without the part in brackets', async () => {
  for (const businessName of [
    'Quartzbridge Maritime Trading Co LLC',
    'Quartz Bridge Maritime Trading Company',
    'QUARTZBRIDGE MARITIME TRADING CO., L.L.C. (QMT)',
  ]) {
    const { hits } = await screenPerson(
      screening.db.system,
      person('Ana', 'Keller', { businessName }),
    );
    assert.equal(hits[0]?.entryId, '103', businessName);
    assert.equal(hits[0]?.matchedOn.field, 'business_name');
  }
});

test('a name listed in its original script is found in that and in Latin script', async () => {
  assert.deepEqual(await findIds(person('سلطان', 'اوردوخان')), ['900001']);
  assert.deepEqual(await findIds(person('Sultan', 'Ordukhan')), ['900001']);
});

test('a person who shares one word with an entry is no hit', async () => {
  for (const subject of [
    person('Timofey', 'Ivanov'),
    person('Anna', 'Zverovsky'),
    person('Idris', 'Elbasan'),
    person('Maria', 'Miller'),
    person('Evaristo', 'Gomez'),
    person('Grey', 'Walker', { businessName: 'Falcon Trading' }),
  ]) {
    assert.deepEqual(await findIds(subject), [], `${subject.firstName} ${subject.lastName}`);
  }
});

test('a weak alias scores less than a good one', async () => {
  const weak = await screenPerson(screening.db.system, person('The', 'Clockmaker'));
  assert.ok(weak.hits.length === 1 && weak.topScorePermille < 1000, `${weak.topScorePermille}`);
});

test('screening many at once gives the same results as one by one, in order', async () => {
  const subjects = [
    person('Timofey', 'Zverovsky'),
    person('', ''),
    person('Anna', 'Schmidt'),
    person('Timofey', 'Zverovsky'),
    person('Idris', 'Qumrani', { businessName: 'Grey Falcons' }),
    person('—', '…'),
  ];
  const cache = createScreeningCache();
  const together = await screenPersons(screening.db.system, subjects, { cache });
  const cached = await screenPersons(screening.db.system, subjects, { cache });
  const alone = await Promise.all(subjects.map((one) => screenPerson(screening.db.system, one)));
  assert.deepEqual(together, alone);
  assert.deepEqual(cached, alone);
  assert.deepEqual(
    together.map(({ hits }) => hits.map(({ entryId }) => entryId)),
    [['101'], [], [], ['101'], ['900002', '102'], []],
  );
});

test('the threshold decides which candidates are hits', async () => {
  const subject = person('Timofej', 'Zverowskij', { dateOfBirth: '1999-01-01' });
  const low = await screenPerson(screening.db.system, subject, { thresholdPermille: 700 });
  const high = await screenPerson(screening.db.system, subject, { thresholdPermille: 1000 });
  assert.equal(low.isHit, true);
  assert.equal(high.isHit, false);
  assert.equal(low.topScorePermille, high.topScorePermille);
});

test('a listed name written with look-alikes and digits is found, and needs a review anyway', async () => {
  const spellings: [string, string][] = [
    // Cyrillic i, o and e among Latin letters.
    ['T\u0456mofey', 'Zver\u043Evsky'],
    ['Tim0fey', 'Zver0vsky'],
    ['Timofey\u200B', 'Zver\u00ADovsky\u03BF'],
  ];
  for (const [first, last] of spellings) {
    const ids = await findIds(person(first, last));
    assert.ok(ids.includes('101'), `${first} ${last}: ${ids.join()}`);
  }
  const mixed = await screenPerson(screening.db.system, person('An\u0430', 'Schmidt'));
  assert.deepEqual(
    mixed.hits.map(({ list, entryId, matchedOn }) => [list, entryId, matchedOn.field]),
    [['name_review', 'mixed_scripts', 'person_name']],
  );
  assert.deepEqual(await findIds(person('Anna 2', 'Schm1dt')), ['digits_in_word']);
  const company = person('Anna', 'Schmidt', { businessName: 'Quartzbr1dge Mar1time Trading' });
  assert.deepEqual(await findIds(company), ['103']);
});

test('further names are compared without date of birth and country', async () => {
  const subject = person('Anna', 'Schmidt', {
    dateOfBirth: '1999-01-01',
    otherNames: [{ field: 'BankAccountName', text: 'ZVEROVSKY TIMOFEI', isCompany: false }],
  });
  const { hits } = await screenPerson(screening.db.system, subject);
  assert.deepEqual(
    hits.map(({ entryId, matchedOn }) => [entryId, matchedOn.field, matchedOn.dateOfBirth]),
    [['101', 'BankAccountName', 'unknown']],
  );
});

test('the name of a bank is a hit only with a very high score', async () => {
  const named = (field: 'BankName' | 'BankAccountName', text: string): ScreenedPerson =>
    person('', '', { otherNames: [{ field, text, isCompany: true }] });
  const bank = (text: string): ScreenedPerson => named('BankName', text);
  assert.deepEqual(await findIds(bank('Quartzbridge Maritime Trading')), ['103']);
  const similar = 'Quartzbredge Maritme Tradin';
  assert.deepEqual(await findIds(named('BankAccountName', similar)), ['103']);
  assert.deepEqual(await findIds(bank(similar)), []);
});

test('a search with what an earlier one learned follows every change of the lists', async () => {
  const cache = createScreeningCache();
  const { system } = screening.db;
  const subject = person('Timofej', 'Zverovskij');
  const find = async () => {
    const [found] = await screenPersons(system, [subject], { cache });
    const versions = found?.lists.versions.map(({ sequence }) => sequence);
    return { ids: found?.hits.map(({ entryId }) => entryId), versions };
  };
  // The second one asks for nothing but the candidates.
  const first = await find();
  assert.deepEqual(await find(), first);
  const renamed = sdnLines.map((line) => line.replace('ZVEROVSKY', 'OTHERNAME'));
  await screening.load({ sdn: asFile(renamed), alt: asFile(altLines.slice(1)) });
  const without = await find();
  assert.deepEqual([first.ids, without.ids], [['101'], []]);
  assert.notDeepEqual(without.versions, first.versions);
  await screening.load();
  assert.deepEqual((await find()).ids, ['101']);
  assert.deepEqual((await find()).ids, ['101']);
});
