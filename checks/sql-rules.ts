/**
 * The rules of the schema files: each function is written once, in full, in at most 70 lines, and
 * something calls it. Conditions on the time read it once for each statement.
 */

export type SqlFile = { name: string; text: string };

type SqlFunction = { name: string; file: string; lines: number; definition: string };

const linesMax = 70;

/** From `create function` to the `;` after its body, which is quoted by $$ or is one expression. */
const functionPattern =
  /^create (?:or replace )?(?:function|procedure) (\w+)[^;]*?(?:\$\$.*?\$\$[^;]*|\breturn\b[^;]*);/gms;

const forbidden: readonly [RegExp, string][] = [
  [/\bcreate or replace\b/, 'write "create": the files hold each object once'],
  [/^alter table \w+\s+(?:add|drop|rename)\b/m, 'write it into "create table"'],
  [/^drop\b/m, 'remove the object instead'],
  [/^grant [^;]* to outlay_tenant, /m, 'write one grant for each line and object'],
];

/**
 * @param sources the production code that may call functions.
 */
export function findSqlProblems(files: readonly SqlFile[], sources: readonly string[]): string[] {
  const functions = files.flatMap(findFunctions);
  return [
    ...files.flatMap(findForbidden),
    ...[...files.map(({ text }) => text), ...sources].flatMap(findTimeOfRows),
    ...findRepeated(functions),
    ...findLong(functions),
    ...findUncalled(functions, [...files.map(({ text }) => text), ...sources]),
  ];
}

function findFunctions({ name: file, text }: SqlFile): SqlFunction[] {
  return [...text.matchAll(functionPattern)].map(([definition, name = '']) => {
    const lines = definition.split('\n').length;
    return { name, file, lines, definition };
  });
}

function findForbidden({ name, text }: SqlFile): string[] {
  return forbidden
    .filter(([pattern]) => pattern.test(text))
    .map(([pattern, advice]) => `${name}: ${pattern.exec(text)?.[0]}: ${advice}`);
}

/**
 * `environment_now()` is volatile: a condition calls it for every row and can use no index. PL/pgSQL
 * compares no rows in `if`.
 */
function findTimeOfRows(text: string): string[] {
  const pattern =
    /^(?!\s*if ).*(?:[<>]=?|\band) environment_now\(\).*|^(?!\s*if ).*\benvironment_now\(\) [<>].*/gm;
  return [...text.matchAll(pattern)]
    .map(([line]) => line.trim())
    .filter((line) => !line.startsWith('--') && !/\(select environment_now\(\)/.test(line))
    .map((line) => `${line}: write (select environment_now())`);
}

function findRepeated(functions: readonly SqlFunction[]): string[] {
  const names = functions.map(({ name }) => name);
  return functions
    .filter(({ name }, place) => names.indexOf(name) !== place)
    .map(({ name, file }) => `${file}: ${name} is defined twice`);
}

function findLong(functions: readonly SqlFunction[]): string[] {
  return functions
    .filter(({ lines }) => lines > linesMax)
    .map(({ name, file, lines }) => `${file}: ${name} has ${lines} lines, more than ${linesMax}`);
}

/** Comments, grants and the function's own body do not call it. */
function findUncalled(functions: readonly SqlFunction[], texts: readonly string[]): string[] {
  const code = texts.map((text) => text.replaceAll(/--.*$|^grant [^;]*;/gm, '')).join('\n');
  const counts = countWords(code);
  return functions
    .filter(({ name, definition }) => {
      const own = countWords(definition.replaceAll(/--.*$/gm, '')).get(name) ?? 0;
      return (counts.get(name) ?? 0) <= own;
    })
    .map(({ name, file }) => `${file}: nothing calls ${name}`);
}

function countWords(text: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const [word] of text.matchAll(/\w+/g)) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}
