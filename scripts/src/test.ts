import { parseArgs } from 'node:util';
import { root } from './root.ts';
import { runAffected } from './suite/affected.ts';
import { killAll } from './suite/command.ts';
import { type Selection, select } from './suite/select.ts';
import { runSuite } from './suite/suite.ts';

const usage = `scripts/test [--only NAME]… [--faults] [TEXT]…
scripts/test --affected

Checks the whole checkout and runs all tests; its last line is "N passed, M failed".

  --only NAME  only the check or the workspace of that name, as the summary calls it; may be repeated
  --faults     only the fault tests, each at its full length
  TEXT         only the tests in files whose path contains it, and no check
  --affected   only what a change since main touches; what has passed before on the same files is not run again`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: 'string', multiple: true, default: [] },
    faults: { type: 'boolean', default: false },
    affected: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h' },
  },
});

if (values.help) console.log(usage);
else if (values.affected) process.exitCode = await runAffected(root);
else {
  const selection = select(root, { only: values.only, texts: positionals, faults: values.faults });
  process.exitCode = isEmpty(selection) ? nothing() : await run(selection);
}

async function run(selection: Selection): Promise<number> {
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (interrupted.signal.aborted) process.exit(1); // what runs ends with this process
      console.error(`${signal}: stopping`);
      interrupted.abort(new Error('it was interrupted'));
      killAll();
    });
  }
  const isGreen = await runSuite(selection, {
    root,
    ci: Boolean(process.env.CI),
    signal: interrupted.signal,
    say: console.log,
  });
  return isGreen ? 0 : 1;
}

function isEmpty({ checks, files }: Selection): boolean {
  return checks.length + files.length === 0;
}

function nothing(): number {
  console.error(`nothing is called ${[...values.only, ...positionals].join(' or ')}`);
  return 2;
}
