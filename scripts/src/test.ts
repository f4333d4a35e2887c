import { parseArgs } from 'node:util';
import { root } from './root.ts';
import { killAll } from './suite/command.ts';
import { findContractCheck } from './suite/contract.ts';
import { faultTests, withFaultsApart } from './suite/fault-tests.ts';
import { storyFolder } from './suite/mesh-stories.ts';
import { type RealEngines, realEngines } from './suite/real-engines.ts';
import { checks, lanes, leftOut, type Outcome, type Step, tests, twice } from './suite/steps.ts';
import { storiesOnMesh } from './suite/stories-on-mesh.ts';
import { onPostgres, testedWorkspaces, type Workspace } from './suite/workspaces.ts';

const usage = `scripts/test [--only NAME]… [--faults] [TEXT]…

Checks the whole checkout and runs all tests; its last line is "N passed, M failed".

  --only NAME  only the check or the workspace of that name, as the summary calls it; may be repeated
  --faults     only the fault tests, each at its full length
  TEXT         only the tests in files whose path contains it, and no check`;

const ci = Boolean(process.env.CI);
/** The workspaces whose tests ask for Redis, Kafka or installed servers. */
const needsServers = new Set(['chassis', 'scripts', 'servers', 'mesh', 'bench']);

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: 'string', multiple: true, default: [] },
    faults: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h' },
  },
});

if (values.help) console.log(usage);
else await main();

async function main(): Promise<void> {
  const interrupted = new AbortController();
  const engines = realEngines(ci, interrupted.signal, console.log);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (interrupted.signal.aborted) process.exit(1); // what runs ends with this process
      console.error(`${signal}: stopping`);
      interrupted.abort(new Error('it was interrupted'));
      killAll();
    });
  }

  const steps = chosen(engines, interrupted.signal);
  if (steps.length === 0) {
    console.error(`nothing is called ${[...values.only, ...positionals].join(' or ')}`);
    process.exit(2);
  }
  const checksContract = steps.some(({ name }) => name === 'supergraph');
  if (checksContract && !findContractCheck(root, process.env)) {
    console.log('- contract: left out, it is not beside this checkout (PARLEY_CONTRACT_DIR)');
  }

  const outcomes: Outcome[] = [];
  const queue = steps.values();
  const lane = async () => {
    for (const step of queue) {
      if (interrupted.signal.aborted) return;
      outcomes.push(await timed(step));
    }
  };
  const servers = steps.includes(engines.step);
  await Promise.all(Array.from({ length: lanes }, lane));
  if (servers) await engines.stop();
  if (interrupted.signal.aborted) {
    process.exitCode = 1;
    return;
  }

  const total = (count: 'passed' | 'failed' | 'skipped') => outcomes.reduce((sum, each) => sum + each[count], 0);
  if (total('skipped') > 0) console.log(`${total('skipped')} skipped`);
  console.log(`${total('passed')} passed, ${total('failed')} failed`);
  if (total('failed') > 0) process.exitCode = 1;
}

/**
 * The steps in the order in which they begin. What waits for the servers comes last, so that a first run installs them beside
 * the rest.
 */
function chosen(engines: RealEngines, signal: AbortSignal): Step[] {
  const wantedFiles = testedWorkspaces(root)
    .map((each) => ({ ...each, files: each.files.filter((file) => isWanted(`${each.folder}/${file}`)) }))
    .filter(({ files }) => files.length > 0);
  const { others: workspaces, faults } = withFaultsApart(wantedFiles);
  const broken = faults && faultTests(faults, { root, installed: engines.installed, full: values.faults });
  if (values.faults) return broken ? [engines.step, broken] : [];
  const steady = (step: Step) => (ci ? twice(step) : step);
  const stories = workspaces.find(({ folder }) => folder === storyFolder);
  const told = stories && storiesOnMesh({ root, workspace: stories, ci, installed: engines.installed, signal });
  const plain = workspaces.filter(({ name }) => !needsServers.has(name)).map((each) => steady(tests(root, each)));
  const real = [
    ...(told ? [told] : []),
    ...(broken ? [broken] : []),
    ...workspaces.filter(({ name }) => needsServers.has(name)).map((each) => tests(root, each, engines)),
    ...workspaces.flatMap((each) => onServer(engines, each)),
  ].map(steady);
  const all = [...plain, ...real];
  const steps = positionals.length > 0 ? all : [...checks(root, process.env), ...all];
  const wanted = values.only.length > 0 ? steps.filter(({ name }) => values.only.includes(name)) : steps;
  return wanted.some((step) => real.includes(step)) ? [engines.step, ...wanted] : wanted;
}

/** The same tests on a PostgreSQL server, where there is one. */
function onServer(engines: RealEngines, workspace: Workspace): Step[] {
  const again = onPostgres(root, workspace);
  if (!again) return [];
  const step = tests(root, again, {
    async env() {
      const { TEST_POSTGRES_URL = '', ...env } = await engines.env();
      return { ...env, TEST_DATABASE_URL: TEST_POSTGRES_URL };
    },
  });
  return [
    {
      name: step.name,
      async run() {
        const { TEST_POSTGRES_URL } = await engines.env();
        return TEST_POSTGRES_URL ? step.run() : { passed: 0, failed: 0, skipped: again.files.length, output: '' };
      },
    },
  ];
}

function isWanted(path: string): boolean {
  return positionals.length === 0 || positionals.some((text) => path.includes(text));
}

async function timed(step: Step): Promise<Outcome> {
  const start = performance.now();
  const outcome = await step.run();
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  const { passed, failed, skipped, output, unsteady, engines: on, notes = [] } = outcome;
  const counts = [
    passed + failed > 1 && `${passed} passed`,
    failed > 0 && `${failed} failed`,
    skipped > 0 && `${skipped} skipped`,
    `${seconds} s`,
  ];
  console.log(`${failed > 0 ? '✘' : '✔'} ${step.name}${on ? ` (${on})` : ''}: ${counts.filter(Boolean).join(', ')}`);
  for (const note of notes) console.log(`    ${note}`);
  if (failed > 0 || output.startsWith(leftOut)) console.log(output.trimEnd().replaceAll(/^/gm, '    '));
  if (unsteady)
    console.log(
      `    failed at first, and passed when it was run again:\n${unsteady.trimEnd().replaceAll(/^/gm, '    ')}`,
    );
  return outcome;
}
