import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { sandboxCatalog } from '../../testing/setups/destinations.ts';
import { attributeTypes } from '../attributes/field.ts';
import { recipientReasons } from '../kyc/decisions.ts';
import { payoutStatuses } from '../payouts/payout-states.ts';
import { deliveryTypes } from '../rails/contract/declarations.ts';
import { describeForm } from './details.ts';
import { readLanguages } from './languages.ts';

/** The texts of the pages: complete, with the same places for values, and none left in English. */

const languages = readLanguages();
const english = languages.get('en')?.texts ?? {};
const plural = 'details.faults.';

const listPlaces = (text: string) =>
  [...text.matchAll(/\{([a-z]+)\}/g)].map(([, name]) => name).toSorted();

/** Words that are the same in another language, or names. */
const sameWords = new Set([
  'language.dir',
  'option.pix_key',
  'field.pixKey',
  'details.optional',
  'choice.services',
  'choice.other',
  'status.from',
  'choice.information',
  'status.reference',
]);

test('at least twelve languages have the same keys and the same places for values', () => {
  assert.ok(languages.size >= 12, String(languages.size));
  for (const { code, texts, name } of languages.values()) {
    assert.ok(name !== '' && ['ltr', 'rtl'].includes(texts['language.dir'] ?? ''), code);
    const keysOf = (one: object) => Object.keys(one).filter((key) => !key.startsWith(plural));
    assert.deepEqual(keysOf(texts).toSorted(), keysOf(english).toSorted(), code);
    for (const key of keysOf(english)) {
      assert.deepEqual(
        listPlaces(texts[key] ?? ''),
        listPlaces(english[key] ?? ''),
        `${code} ${key}`,
      );
    }
    const forms = Object.keys(texts).filter((key) => key.startsWith(plural));
    const { pluralCategories } = new Intl.PluralRules(code).resolvedOptions();
    assert.deepEqual(
      forms.map((key) => key.slice(plural.length)).toSorted(),
      pluralCategories.toSorted(),
      code,
    );
    assert.ok(
      forms.every((key) => texts[key]?.includes('{count}')),
      code,
    );
  }
});

test('no text was left in English, and each language is written in its own script', () => {
  const scripts: Record<string, RegExp> = {
    ar: /\p{Script=Arabic}/u,
    hi: /\p{Script=Devanagari}/u,
    zh: /\p{Script=Han}/u,
    ja: /[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}]/u,
    ru: /\p{Script=Cyrillic}/u,
    uk: /\p{Script=Cyrillic}/u,
  };
  for (const { code, texts } of languages.values()) {
    if (code === 'en') continue;
    const same = Object.keys(english).filter((key) => texts[key] === english[key]);
    assert.deepEqual(
      same.filter((key) => !sameWords.has(key)),
      [],
      code,
    );
    for (const [key, text] of Object.entries(texts)) {
      if (key === 'language.dir') continue;
      const script = scripts[code];
      assert.ok(script === undefined || script.test(text), `${code} ${key}`);
      // Nothing in a text can be taken for markup or turn what follows around.
      assert.doesNotMatch(text, /[<>\u202a-\u202e]/, `${code} ${key}`);
    }
  }
});

test('every key that the scripts use has a text, and every text is used', () => {
  const folder = join(import.meta.dirname, 'page');
  const names = readdirSync(folder).filter((name) => name.endsWith('.js'));
  const source = names.map((name) => readFileSync(join(folder, name), 'utf8')).join('\n');
  const used = [...source.matchAll(/(?:say|paragraph|button)\(\s*'([\w.-]+)'/g)].map(
    ([, key]) => key ?? '',
  );
  assert.ok(used.length > 40);
  assert.deepEqual(
    used.filter((key) => english[key] === undefined),
    [],
  );
  const families =
    /^(language|title|gone|error|field|choice|delivery|reason|quality|status|todo|option|hint|details\.faults)\./;
  const unused = Object.keys(english).filter(
    (key) =>
      !families.test(key) &&
      key !== 'needsScript' &&
      !source.includes(`'${key}'`) &&
      !/^verify\.(document|passport|face|submitted|approved)/.test(key),
  );
  assert.deepEqual(unused, []);
});

test('every field and choice of every destination has a name in the texts', () => {
  const plain = new Set<string>();
  const seen = new Set<string>();
  for (const { country } of sandboxCatalog.servedCountries()) {
    for (const payer of sandboxCatalog.payersIn(country.code)) {
      for (const currency of payer.currencies) {
        for (const { text, choices, options, example } of describeForm({ payer, currency })) {
          // No account or document of anyone.
          assert.doesNotMatch(example, /[1-9]/);
          seen.add(text);
          for (const choice of choices) {
            if (choice.text === '') plain.add(choice.value);
            else seen.add(choice.text);
          }
          for (const option of options) seen.add(`option.${option}`);
        }
      }
    }
  }
  assert.deepEqual(
    [...seen].filter((key) => english[key] === undefined),
    [],
  );
  // Names of documents and accounts of a country, which stay as they are.
  assert.ok(
    [...plain].every((value) => value.length <= 24),
    [...plain].join(),
  );
  assert.ok(plain.size < 80, String(plain.size));
  assert.ok(attributeTypes.length > 0);
});

test('every status, reason and kind of delivery has a text', () => {
  const keys = [
    ...payoutStatuses.map((status) => `status.${status}`),
    ...recipientReasons.map((reason) => `reason.${reason}`),
    ...deliveryTypes.map((type) => `delivery.${type}`),
  ];
  assert.deepEqual(
    keys.filter((key) => english[key] === undefined),
    [],
  );
});
