import { parseArgs } from 'node:util';
import { root } from './root.ts';
import { killAll } from './suite/command.ts';
import { findContractCheck } from './suite/contract.ts';
import { checks, lanes, type Outcome, type Step, tests } from './suite/steps.ts';
import { testedWorkspaces } from './suite/workspaces.ts';

const usage = `scripts/test [--only NAME]… [TEXT]…

Checks the whole checkout and runs all tests; its last line is "N passed, M failed".

  --only NAME  only the check or the workspace of that name, as the summary calls it; may be repeated
  TEXT         only the tests in files whose path contains it, and no check`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { only: { type: 'string', multiple: true, default: [] }, help: { type: 'boolean', short: 'h' } },
});

if (values.help) console.log(usage);
else await main();

async function main(): Promise<void> {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      killAll();
      process.exit(1);
    });
  }

  const steps = chosen();
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
    for (const step of queue) outcomes.push(await timed(step));
  };
  await Promise.all(Array.from({ length: lanes }, lane));

  const total = (count: 'passed' | 'failed' | 'skipped') => outcomes.reduce((sum, each) => sum + each[count], 0);
  if (total('skipped') > 0) console.log(`${total('skipped')} skipped`);
  console.log(`${total('passed')} passed, ${total('failed')} failed`);
  if (total('failed') > 0) process.exitCode = 1;
}

function chosen(): Step[] {
  const workspaces = testedWorkspaces(root)
    .map((each) => ({ ...each, files: each.files.filter((file) => isWanted(`${each.folder}/${file}`)) }))
    .filter(({ files }) => files.length > 0)
    .map((workspace) => tests(root, workspace));
  const all = positionals.length > 0 ? workspaces : [...checks(root, process.env), ...workspaces];
  return values.only.length > 0 ? all.filter(({ name }) => values.only.includes(name)) : all;
}

function isWanted(path: string): boolean {
  return positionals.length === 0 || positionals.some((text) => path.includes(text));
}

async function timed(step: Step): Promise<Outcome> {
  const start = performance.now();
  const outcome = await step.run();
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  const { passed, failed, skipped, output } = outcome;
  const counts = [
    passed + failed > 1 && `${passed} passed`,
    failed > 0 && `${failed} failed`,
    skipped > 0 && `${skipped} skipped`,
    `${seconds} s`,
  ];
  console.log(`${failed > 0 ? '✘' : '✔'} ${step.name}: ${counts.filter(Boolean).join(', ')}`);
  if (failed > 0) console.log(output.replaceAll(/^/gm, '    '));
  return outcome;
}
