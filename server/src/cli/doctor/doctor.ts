import { type Config, ConfigError, readConfig } from '../../config.ts';
import { findUnknownSettings } from '../../config-names.ts';
import type { EnvironmentName } from '../../core/access.ts';
import { listEnvironments } from '../../environment/databases.ts';
import { findConfinement } from '../../kyc/decoder-confinement.ts';
import { checkDatabase, type DatabaseReport } from './database-checks.ts';
import { type Finding, passed, problem } from './finding.ts';
import {
  checkDataFolder,
  checkDecoder,
  checkFaces,
  checkFonts,
  checkNode,
  checkPorts,
  checkReader,
  checkUser,
} from './machine-checks.ts';
import { checkNotices, checkTemplates } from './notice-checks.ts';
import { checkRailSetup } from './rail-checks.ts';
import {
  checkLimits,
  checkLists,
  checkMasterKey,
  checkRates,
  listSecretNames,
} from './source-checks.ts';

/**
 * Finds everything that would stop the service or make it useless, and says how to fix each problem.
 * Changes nothing.
 */

export type DoctorOptions = {
  realNowMs: () => number;
  /** Of the user who runs the service; undefined where the system has no such numbers. */
  uid: number | undefined;
  fetch?: typeof fetch;
};

type Variables = Readonly<Record<string, string | undefined>>;

export async function examine(variables: Variables, options: DoctorOptions): Promise<Finding[]> {
  let config: Config;
  try {
    config = readConfig(variables);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return [...checkNames(variables, new Set()), ...error.message.split('; ').map(problem)];
  }
  const findings = [
    checkNode(),
    checkUser(config, options.uid),
    checkFonts(),
    checkReader(),
    checkFaces(config),
    checkDecoder(config, await findConfinement()),
    ...checkNames(variables, listSecretNames(config)),
    ...checkDataFolder(config),
    ...(await checkPorts(config)),
    ...(await checkSources(config, options)),
  ];
  const reports: DatabaseReport[] = [];
  for (const name of listEnvironments(config)) {
    const report = await checkEnvironment({ config, name }, options);
    reports.push(report);
    findings.push(...report.findings);
  }
  return [...findings, ...checkConnectionSum(reports)];
}

function checkNames(variables: Variables, others: ReadonlySet<string>): Finding[] {
  const unknown = findUnknownSettings(variables, others);
  return unknown.length > 0 ? unknown.map(problem) : [passed('all OUTLAY_ variables are settings')];
}

async function checkSources(
  config: Config,
  { realNowMs, fetch: given }: DoctorOptions,
): Promise<Finding[]> {
  const sources = { config, fetch: given ?? fetch, realNowMs };
  return [
    ...(await checkRates(sources)),
    ...(await checkLists(sources)),
    ...checkLimits(config),
    ...checkTemplates(config),
  ];
}

async function checkEnvironment(
  place: { config: Config; name: EnvironmentName },
  options: DoctorOptions,
): Promise<DatabaseReport> {
  const { realNowMs } = options;
  const database = await checkDatabase({ ...place, realNowMs });
  const key = checkMasterKey(place, database.environment);
  const rails = await checkRailSetup(place, {
    url: database.isUsable ? database.url : undefined,
    pooling: database.pooling,
    keys: key.keys,
    fetch: options.fetch ?? fetch,
    realNowMs,
  });
  const notices = await checkNotices(place);
  return { ...database, findings: [...database.findings, ...key.findings, ...rails, ...notices] };
}

/** Environments on one server share its connections. */
function checkConnectionSum(reports: readonly DatabaseReport[]): Finding[] {
  const known = reports.filter(({ server }) => server !== undefined);
  const [first] = known;
  const isShared = known.length > 1 && known.every(({ server }) => server === first?.server);
  if (!isShared || first === undefined) return [];
  const needed = known.reduce((sum, { connectionsNeeded }) => sum + connectionsNeeded, 0);
  if (needed <= first.connectionsFree) return [];
  return [
    problem(
      `both environments are on one server, need ${needed} connections and may use ${first.connectionsFree}: lower OUTLAY_DATABASE_CONNECTIONS or raise max_connections`,
    ),
  ];
}
