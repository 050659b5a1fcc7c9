import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findSqlProblems } from './sql-rules.ts';

const define = (name: string, lines = 5): string =>
  `create function ${name}() returns integer
  language plpgsql as $$
begin${'\n'.repeat(lines - 4)}  return 1;
end $$;\n`;
const call = `select one();`;
const find = (text: string, sources: string[]): string[] =>
  findSqlProblems([{ name: 'sample', text }], sources);

test('a function that is written once, short and called passes', () => {
  assert.deepEqual(find(define('one', 70), [call]), []);
  assert.deepEqual(find(`${define('one')} create view all_ones as ${call}`, []), []);
});

test('a long function is named', () => {
  assert.deepEqual(find(define('one', 71), [call]), ['sample: one has 71 lines, more than 70']);
});

test('a function that is only mentioned, granted or recursive is not called', () => {
  const text = `${define('one').replace('return 1', 'return one()')} -- See one().
grant execute on function one to outlay_tenant;`;
  assert.deepEqual(find(text, []), ['sample: nothing calls one']);
});

test('an expression is a body, too', () => {
  const text = `create function one() returns integer language sql return 1;\n${define('two')}`;
  assert.deepEqual(find(text, [call]), ['sample: nothing calls two']);
});

test('a file with a history of changes is refused', () => {
  const text = `${define('one')}${define('one')}alter table sample add column a integer;`;
  assert.deepEqual(find(text, [call]), [
    'sample: alter table sample add: write it into "create table"',
    'sample: one is defined twice',
  ]);
});

test('a condition that reads the time for every row is refused', () => {
  const problem = (line: string) => `${line}: write (select environment_now())`;
  const sources = [
    'where due_at <= environment_now()',
    'or environment_now() > ends_at',
    'and ended_at between begun_at and environment_now()',
    'where due_at <= (select environment_now()) and state = $1',
    'set ended_at = environment_now()',
    'if environment_now() < p_to then return; end if;',
  ];
  assert.deepEqual(find('', sources), sources.slice(0, 3).map(problem));
});
