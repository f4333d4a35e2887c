import { join } from 'node:path';
import { sourceChanges } from './dev/source-changes.ts';
import { supervise } from './dev/supervise.ts';
import { readOptions } from './read-options.ts';
import { root } from './root.ts';

const usage = `Starts all of Parley, and restarts it whenever a source file changes. Ctrl-C stops it.

  scripts/dev

It first generates code from the protos and the GraphQL schemas and composes the supergraph, and repeats this when they
change. If this fails, the running version stays up. Settings are those of scripts/up.
`;

readOptions(usage, {});

const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopping.abort());
const script = (name: string) => join(root, `scripts/src/${name}.ts`);

process.exitCode = await supervise({
  args: [...process.execArgv, script('up')],
  steps: [
    { name: 'generate', after: /(\.proto|\/schema\.graphql|\/graph\/mappers\.ts)$/u, args: [script('generate')] },
    { name: 'compose', after: /\/schema\.graphql$/u, args: [script('compose')] },
  ],
  changes: sourceChanges(root, stopping.signal),
  say: (text) => void process.stdout.write(`parley: ${text}\n`),
});
