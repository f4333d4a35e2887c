import { readOptions } from './read-options.ts';
import { root } from './root.ts';
import { runAffected } from './suite/checks.ts';
import { select, wrongBreak } from './suite/select.ts';
import { runSuite } from './suite/suite.ts';

const usage = `Checks the whole checkout and runs all tests; the last line is "N passed, M failed".

  scripts/test [--only NAME]… [--faults] [TEXT]…
  scripts/test --cluster [--break PROMISE] [TEXT]…
  scripts/test --affected

  --only NAME  only the check or workspace of this name, which the summary shows; may be repeated
  --faults     only the fault tests, each at its full length
  --cluster    only the stories of an installation in Kubernetes, after scripts/cluster up and install
  --break      removes a part of the installation, policy, pdb or prestop, so that its story must fail
  TEXT         only test files whose path contains TEXT, and no checks
  --affected   only what changes since main affect; skips what has passed on the same files before
`;

const flag = { type: 'boolean', default: false } as const;
const options = {
  only: { type: 'string', multiple: true },
  faults: flag,
  cluster: flag,
  break: { type: 'string' },
  affected: flag,
} as const;
const {
  only = [],
  faults,
  cluster,
  break: broken,
  affected,
  positionals: texts,
} = readOptions(usage, options, Number.POSITIVE_INFINITY);

const wrong = broken === undefined ? undefined : wrongBreak(broken, { cluster });
if (wrong !== undefined) {
  process.stderr.write(`${wrong}\n\n${usage}`);
  process.exit(2);
}
process.exitCode = affected ? runAffected(root) : await runChosen();

async function runChosen(): Promise<number> {
  const selection = select(root, { only, texts, faults, cluster });
  if (selection.checks.length + selection.files.length === 0) {
    console.error(`nothing is called ${[...only, ...texts].join(' or ')}`);
    return 2;
  }
  // The option is passed in the environment, because processes of test files receive nothing else.
  if (broken !== undefined) process.env.PARLEY_CLUSTER_BREAK = broken;
  const interrupted = new AbortController();
  const { signal } = interrupted;
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      if (signal.aborted) process.exit(1); // child processes end with this process
      console.error(`${name}: stopping`);
      interrupted.abort(new Error('it was interrupted'));
    });
  }
  const isGreen = await runSuite(selection, { root, ci: Boolean(process.env.CI), signal, say: console.log });
  return isGreen ? 0 : 1;
}
