import { parseArgs } from 'node:util';
import { schemas, topics } from '@parley/units';
import { migrateAll } from './migrate-all.ts';
import { topicsCommand } from './topics-command.ts';

const usage = `Prepares the engines of an installation for all units; for settings see scripts/migrate and scripts/topics.

  migrate                   brings every schema to the newest version
  topics [--replication N]  makes the Kafka topics of all events
`;

// As process 1 of a container it would otherwise ignore them. A migration that is cut off is rolled back.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const run = chosen(process.argv.slice(2));
if (!run) {
  process.stderr.write(usage);
  process.exitCode = 2;
} else {
  await run().catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  });
}

/** What the arguments ask for; undefined where they are wrong. */
function chosen(args: string[]) {
  try {
    const { positionals, values } = parseArgs({
      args,
      options: { replication: { type: 'string' } },
      allowPositionals: true,
    });
    const { replication } = values;
    if (positionals.length !== 1) return undefined;
    if (positionals[0] === 'topics') return () => topicsCommand(topics, process.env, console.log, replication);
    if (positionals[0] === 'migrate' && !replication) return () => migrateAll(schemas, process.env, console.log);
  } catch {
    return undefined;
  }
}
