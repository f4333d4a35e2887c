import { globSync } from 'node:fs';
import { join } from 'node:path';
import { stepsFor } from './dev/preparation.ts';
import { isSource } from './dev/source-files.ts';
import { supervise } from './dev/supervise.ts';
import { watchTrees } from './dev/watch-trees.ts';
import { readOptions } from './read-options.ts';
import { root } from './root.ts';

const usage = `Starts all of Parley, and starts it again whenever a source file changes. Ctrl-C ends it.

  scripts/dev

It composes the supergraph and generates the protos' code anew first; while that fails, what runs goes on. Settings are those of
scripts/up.
`;

readOptions(usage, {});

/**
 * `scripts/up`, started again whenever a source file changes. The supergraph is composed anew and the protos' code
 * generated anew first; while that fails, the mesh that runs goes on.
 */
const folders = ['gateway/src', 'services/*/src', 'protos/parley', 'protos/gen', 'deploy/local/src', 'scripts/src/up'];
const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopping.abort());

const say = (text: string) => void process.stdout.write(`parley: ${text}\n`);
const changes = watchTrees(globSync(folders, { cwd: root }).toSorted(), { root, isWanted: isSource });
say('starting; a changed source file starts it again, Ctrl-C ends it');

process.exitCode = await supervise({
  command: [process.execPath, ...process.execArgv, join(root, 'scripts/src/up.ts')],
  changes,
  initial: globSync(['protos/parley/**/*.proto', 'services/*/src/schema.graphql'], { cwd: root }),
  stepsFor,
  say,
  signal: stopping.signal,
});
changes.close();
