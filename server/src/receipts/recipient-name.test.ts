import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatRecipientName } from './recipient-name.ts';

const parts = (first: string, middle: string, last: string) => ({
  first_name: first,
  middle_name: middle,
  last_name: last,
});

test('a name is in the order of its culture', () => {
  for (const [first, middle, last, country, language, expected] of [
    ['María', 'José', 'Núñez', 'MEX', 'es', 'María José Núñez'],
    ['János', '', 'Kovács', 'HUN', 'en', 'Kovács János'],
    ['János', '', 'Kovács', 'USA', 'hu', 'Kovács János'],
    ['Ánh', 'Thị', 'Nguyễn', 'VNM', 'en', 'Nguyễn Thị Ánh'],
    ['Xiaoming', '', 'Wang', 'CHN', 'en', 'Wang Xiaoming'],
    ['小明', '', '王', 'CHN', 'zh', '王小明'],
    ['太郎', '', '山田', 'USA', 'en', '山田太郎'],
    ['철수', '', '김', 'KOR', 'ko', '김철수'],
    ['タロウ', '', 'ヤマダ', 'JPN', 'ja', 'ヤマダ タロウ'],
    ['Ana', '', '', 'HUN', 'hu', 'Ana'],
  ] as const) {
    const culture = { country, language };
    assert.equal(formatRecipientName(parts(first, middle, last), culture), expected);
  }
});
