import { parseArgs } from 'node:util';
import { doctorCommand, doctorOptions, doctorUsage } from '@parley/doctor/command';
import { schemas, topics } from '@parley/units';
import { migrateAll } from './migrate-all.ts';
import { topicsCommand } from './topics-command.ts';

const usage = `Prepares and checks the engines of an installation for all units; for settings see scripts/migrate and scripts/topics.

  migrate                   brings every schema to the newest version
  topics [--replication N]  makes the Kafka topics of all events
  doctor [--unit UNIT]... [--installation FILE] [--json]
                            checks the settings against the engines, and says what to change

Of doctor:
${doctorUsage}`;

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
function chosen([command = '', ...args]: string[]): (() => Promise<unknown>) | undefined {
  try {
    if (command === 'doctor') {
      const { values } = parseArgs({ args, options: doctorOptions });
      return async () => {
        process.exitCode = await doctorCommand(values, process.env, process);
      };
    }
    if (command === 'topics') {
      const { replication } = parseArgs({ args, options: { replication: { type: 'string' } } }).values;
      return () => topicsCommand(topics, process.env, console.log, replication);
    }
    parseArgs({ args });
    return command === 'migrate' ? () => migrateAll(schemas, process.env, console.log) : undefined;
  } catch {
    return undefined;
  }
}
