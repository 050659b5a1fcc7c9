/**
 * Who may import whom (docs/architecture.md). Types count as imports: what only borrows a type
 * cannot be understood without its source either.
 *
 * Run by `npm run check`; by itself: `npx depcruise server/src server/testing acceptance bench checks sdk/src cli/src`.
 */

const source = '^server/src';

/** Lowest first. A file may import its own rank and the ranks before it. */
const ranks = [
  ['core/'],
  ['db/', 'tracing/', 'config(-values|-telemetry|-identity|-names|-screening)?\\.ts$'],
  ['http/', 'work/'],
  ['audit/', 'ledger/', 'accounts/', 'users/', 'rails/', 'controls/'],
  ['fx/', 'destinations/', 'attributes/', 'kyc/', 'screening/', 'operators/', 'travel-rule/'],
  ['receipts/'],
  ['payouts/'],
  ['proposals/', 'recipient-pages/'],
  ['dispatch/'],
  ['exceptions/'],
  ['batches/'],
  ['erasure/'],
  ['events/'],
  ['webhooks/'],
  ['notices/'],
  [
    'sandbox/',
    'approvals/',
    'rules/',
    'monitoring/',
    'statements/',
    'reconciliation/',
    'reports/',
    'backtest/',
  ],
  ['environment/'],
  ['cli/'],
  ['console/', 'operator-api/'],
  ['routes\\.ts$'],
  ['app\\.ts$'],
  ['operator\\.ts$'],
  ['main\\.ts$'],
];

/** Tests stand beside what they test. All else that only tests use is in `server/testing`. */
const tests = '\\.test\\.ts$';

/** Files of the app itself, which put the modules together and so may see all of them. */
const appFiles = `${source}/((environment|cli|console|operator-api)/|(app|routes|operator|main)\\.ts$)`;

const pathOf = (parts) => `${source}/(${parts.join('|')})`;

const rankRules = ranks.slice(0, -1).map((rank, index) => ({
  name: `rank-${index}`,
  comment: `${rank.join(', ')} may not import what is built upon it.`,
  severity: 'error',
  from: { path: pathOf(rank), pathNot: tests },
  to: { path: pathOf(ranks.slice(index + 1).flat()) },
}));

module.exports = {
  forbidden: [
    ...rankRules,
    {
      name: 'no-cycle',
      comment: 'Two files that need each other are one file, or lack a third.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'every-file-has-a-rank',
      comment: 'A new folder or file of the app needs its place in the list of ranks above.',
      severity: 'error',
      from: {},
      to: { path: `${source}/`, pathNot: pathOf(ranks.flat()) },
    },
    {
      name: 'sql-stays-in-its-folder',
      comment:
        'X.sql.ts is an inner part of module X: others call the functions of its public file.',
      severity: 'error',
      from: { path: `${source}/([^/]+)/`, pathNot: '\\.test\\.ts$' },
      to: { path: '\\.sql\\.ts$', pathNot: `${source}/$1/` },
    },
    {
      name: 'sql-stays-out-of-the-app',
      comment: 'The files of the app use the public functions of modules as well.',
      severity: 'error',
      from: { path: appFiles, pathNot: tests },
      to: { path: '\\.sql\\.ts$' },
    },
    {
      name: 'domain-knows-no-http',
      comment: 'Only routes and the files of the app speak HTTP.',
      severity: 'error',
      from: {
        path: `${source}/`,
        pathNot: [`${source}/http/`, '\\.routes\\.ts$', '-view\\.ts$', appFiles, tests],
      },
      to: { path: `${source}/http/` },
    },
    {
      name: 'rails-touch-nothing',
      comment: 'A rail knows the core and the contract: no database, no other rail.',
      severity: 'error',
      from: {
        path: `${source}/rails/([^/]+)/`,
        pathNot: [tests, `${source}/rails/host/`],
      },
      to: {
        path: `${source}/`,
        pathNot: [`${source}/core/`, `${source}/rails/(contract|kit)/`, `${source}/rails/$1/`],
      },
    },
    {
      name: 'core-is-pure',
      comment: 'The core computes: no files, no network, no other process.',
      severity: 'error',
      from: { path: `${source}/core/`, pathNot: tests },
      to: { dependencyTypes: ['core'], pathNot: '^(node:)?(crypto|buffer|util)$' },
    },
    {
      name: 'service-does-not-import-tests',
      comment: 'Simulators, reference partners and set-ups of tests can not reach production.',
      severity: 'error',
      from: { path: `${source}/`, pathNot: tests },
      to: { path: [tests, '^(server/testing|acceptance|bench|checks)/'] },
    },
    {
      name: 'service-runs-without-dev-packages',
      comment: '`npm start` installs no development packages.',
      severity: 'error',
      from: { path: `${source}/`, pathNot: tests },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], pathNot: '/@types/' },
    },
    {
      name: 'acceptance-knows-only-the-wire',
      comment:
        'Black-box tests run against any address, so they share no code with the service. ' +
        'Those of reliability kill processes, count in the database, and ask the counterparts of ' +
        'rails: they need some of their own. The service and commands of operators run in the ' +
        'process of the test, on a database of its own. ' +
        'What is played to the console (lists, files of a bank, documents) is that of other tests.',
      severity: 'error',
      from: {
        path: '^acceptance/',
        pathNot:
          '^acceptance/(reliability-|rails-trial/|personal-data/|drills/|console/incidents\\.ts|commands\\.ts|service-as-root\\.ts|service-here\\.ts|test-database\\.ts)',
      },
      to: { path: '^server/' },
    },
    {
      name: 'clients-know-only-the-wire',
      comment:
        'The console, the SDK and the command line work through the API. Only commands of ' +
        'operators load the service.',
      severity: 'error',
      from: { path: '^(console|sdk|cli)/', pathNot: '^cli/src/admin/' },
      to: { path: '^server/' },
    },
    {
      name: 'command-line-does-not-import-tests',
      comment: 'Besides its own files and packages, the command line imports the SDK alone.',
      severity: 'error',
      from: { path: '^cli/src/', pathNot: tests },
      to: { path: '^(acceptance|bench|checks|server/testing)/' },
    },
    {
      name: 'sdk-needs-no-package',
      comment: 'The SDK runs in browsers and has no runtime dependency.',
      severity: 'error',
      from: { path: '^sdk/src/', pathNot: tests },
      to: { path: '.', pathNot: '^sdk/src/' },
    },
    {
      name: 'resolvable',
      comment: 'An import that leads nowhere escapes every rule.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(^|/)dist/' },
    // Type-only imports count too.
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    combinedDependencies: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
    },
  },
};
