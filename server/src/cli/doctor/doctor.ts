import { type Config, ConfigError, findUnknownSettings, readConfig } from '../../config.ts';
import type { EnvironmentName } from '../../core/access.ts';
import { checkDatabase, type DatabaseReport } from './database-checks.ts';
import { type Finding, fine, wrong } from './finding.ts';
import { checkDataFolder, checkFonts, checkNode, checkPorts } from './machine-checks.ts';
import { checkRailSetup } from './rail-checks.ts';
import {
  checkLimits,
  checkLists,
  checkMasterKey,
  checkRates,
  listSecretNames,
} from './source-checks.ts';

/**
 * Looks for everything that would stop the service or make it useless, without changing anything,
 * and says for each problem what to do.
 */

export type DoctorOptions = {
  realNowMs: () => number;
  fetch?: typeof fetch;
  print: (text: string) => void;
};

type Variables = Readonly<Record<string, string | undefined>>;

/** Prints one line for each finding, and sets exit code 1 where there are problems. */
export async function runDoctor(variables: Variables, options: DoctorOptions): Promise<void> {
  const findings = await examine(variables, options);
  for (const { isFine, text } of findings) {
    options.print(`${isFine ? 'ok   ' : 'WRONG'} ${text}\n`);
  }
  const problems = findings.filter(({ isFine }) => !isFine).length;
  options.print(problems === 1 ? '1 problem found.\n' : `${problems} problems found.\n`);
  if (problems > 0) process.exitCode = 1;
}

export async function examine(
  variables: Variables,
  options: Omit<DoctorOptions, 'print'>,
): Promise<Finding[]> {
  let config: Config;
  try {
    config = readConfig(variables);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return [...checkNames(variables, new Set()), ...error.message.split('; ').map(wrong)];
  }
  const names = config.OUTLAY_ENVIRONMENTS.split(',') as EnvironmentName[];
  const findings = [
    checkNode(),
    checkFonts(),
    ...checkNames(variables, listSecretNames(config)),
    ...checkDataFolder(config),
    ...(await checkPorts(config)),
    ...(await checkSources(config, options)),
  ];
  const reports: DatabaseReport[] = [];
  for (const name of names) {
    const report = await checkEnvironment({ config, name }, options);
    reports.push(report);
    findings.push(...report.findings);
  }
  return [...findings, ...checkConnectionSum(reports)];
}

function checkNames(variables: Variables, others: ReadonlySet<string>): Finding[] {
  const unknown = findUnknownSettings(variables, others);
  return unknown.length > 0 ? unknown.map(wrong) : [fine('every OUTLAY_ variable is a setting')];
}

async function checkSources(
  config: Config,
  { realNowMs, fetch: given }: Omit<DoctorOptions, 'print'>,
): Promise<Finding[]> {
  const sources = { config, fetch: given ?? fetch, realNowMs };
  return [...(await checkRates(sources)), ...(await checkLists(sources)), ...checkLimits(config)];
}

async function checkEnvironment(
  place: { config: Config; name: EnvironmentName },
  options: Omit<DoctorOptions, 'print'>,
): Promise<DatabaseReport> {
  const { realNowMs } = options;
  const database = await checkDatabase({ ...place, realNowMs });
  const key = checkMasterKey(place, database.environment);
  const rails = await checkRailSetup(place, {
    url: database.isUsable ? database.url : undefined,
    keys: key.keys,
    fetch: options.fetch ?? fetch,
    realNowMs,
  });
  return { ...database, findings: [...database.findings, ...key.findings, ...rails] };
}

/** Both environments may be on one server, whose connections they then share. */
function checkConnectionSum(reports: readonly DatabaseReport[]): Finding[] {
  const known = reports.filter(({ server }) => server !== undefined);
  const [first] = known;
  const isShared = known.length > 1 && known.every(({ server }) => server === first?.server);
  if (!isShared || first === undefined) return [];
  const needed = known.reduce((sum, { connectionsNeeded }) => sum + connectionsNeeded, 0);
  if (needed <= first.connectionsFree) return [];
  return [
    wrong(
      `both environments are on one server, which has ${first.connectionsFree} connections for ${needed}: lower OUTLAY_DATABASE_CONNECTIONS or raise max_connections`,
    ),
  ];
}
