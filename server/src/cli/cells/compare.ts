import { describeClocks } from '../doctor/clock-check.ts';
import { type Finding, passed, problem } from '../doctor/finding.ts';
import type { CellDescription } from './description.ts';

/** What cells must not have in common, and what they must. Knows only their descriptions. */

const dayMs = 86_400_000;

export function compareCells(cells: readonly CellDescription[], nowMs: number): Finding[] {
  if (cells.length < 2) return [problem('at least two cells must be described')];
  const salts = new Set(cells.map(({ salt_id: salt }) => salt));
  if (salts.size > 1) {
    const text = 'the cells were described with different salts: describe all with the same one';
    return [problem(text)];
  }
  return [
    ...cells.flatMap((cell) => listFaults(cell, nowMs)),
    ...compareEnvironments(cells),
    ...listTaken(cells, 'name', ({ cell }) => cell),
    ...listTaken(cells, 'host name', ({ public_url: url }) => new URL(url).host),
    compareReleases(cells),
    ...compareExclusives(cells),
  ];
}

function listFaults(cell: CellDescription, nowMs: number): Finding[] {
  const { cell: name, faults, described_at: at, database_ahead_ms: aheadMs } = cell;
  const ageMs = nowMs - Date.parse(at);
  return [
    ...faults.map((fault) =>
      problem(`${name}: ${fault}: describe the cell from where its processes run`),
    ),
    ...(ageMs > dayMs ? [problem(`${name}: was described at ${at}: describe it again`)] : []),
    describeClocks(name, aheadMs),
  ];
}

function compareEnvironments(cells: readonly CellDescription[]): Finding[] {
  const names = new Set(cells.map(({ environment }) => environment));
  if (names.size === 1) return [];
  const listed = cells.map(({ cell, environment }) => `${cell} is ${environment}`);
  return [problem(`${listed.join(', ')}: compare cells of one environment`)];
}

function listTaken(
  cells: readonly CellDescription[],
  what: string,
  read: (cell: CellDescription) => string,
): Finding[] {
  const values = cells.map(read);
  const repeated = new Set(values.filter((value, index) => values.indexOf(value) !== index));
  if (repeated.size === 0) return [passed(`each cell has a ${what} of its own`)];
  return [...repeated].map((value) =>
    problem(`more than one cell has the ${what} ${value}: give each its own`),
  );
}

/** Releases reach one cell first, and are at most one apart. */
function compareReleases(cells: readonly CellDescription[]): Finding {
  const listed = cells.map(({ cell, release, schema }) => `${cell} ${release} (schema ${schema})`);
  const text = `releases: ${listed.join(', ')}`;
  const versions = cells.map(({ release }) => release.split('.').map(Number));
  const majors = new Set(versions.map(([major]) => major));
  const minors = versions.map(([, minor = 0]) => minor);
  const schemas = cells.map(({ schema }) => schema);
  const spread = Math.max(spreadOf(minors), spreadOf(schemas));
  return majors.size === 1 && spread <= 1
    ? passed(text)
    : problem(`${text}: more than one release apart: upgrade the older cells`);
}

const spreadOf = (values: readonly number[]): number => Math.max(...values) - Math.min(...values);

function compareExclusives(cells: readonly CellDescription[]): Finding[] {
  const uses = Map.groupBy(
    cells.flatMap(({ cell, exclusives }) => exclusives.map((one) => ({ cell, ...one }))),
    ({ hash }) => hash,
  );
  // One cell may use something twice, such as one account for two rails.
  const shared = [...uses.values()].filter((one) => new Set(one.map(({ cell }) => cell)).size > 1);
  if (shared.length === 0) {
    return [passed(`the cells share nothing of the ${uses.size} things that were compared`)];
  }
  return shared.map((one) => {
    const listed = one.map(({ cell, what }) => `${what} (${cell})`);
    return problem(`the cells share ${listed.join(' and ')}: give each cell its own`);
  });
}
