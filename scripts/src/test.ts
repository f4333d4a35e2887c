import { readOptions } from './read-options.ts';
import { root } from './root.ts';
import { runAffected } from './suite/checks.ts';
import { select, wrongBreak } from './suite/select.ts';
import { runSuite } from './suite/suite.ts';

const usage = `Checks the whole checkout and runs all tests; its last line is "N passed, M failed".

  scripts/test [--only NAME]… [--faults] [TEXT]…
  scripts/test --cluster [--break PROMISE] [TEXT]…
  scripts/test --affected

  --only NAME  only the check or the workspace of that name, as the summary calls it; may be repeated
  --faults     only the fault tests, each at its full length
  --cluster    only the stories of an installation in Kubernetes: scripts/cluster up and install come first
  --break      what such a story is to notice: policy, pdb or prestop is removed, and the story fails
  TEXT         only the tests in files whose path contains it, and no check
  --affected   only what a change since main touches; what has passed before on the same files is not run again
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
  // Passed by the environment, because processes of test files receive nothing else.
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
