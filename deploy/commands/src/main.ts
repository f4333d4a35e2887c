import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { doctorCommand, doctorOptions, doctorUsage } from '@parley/doctor/command';
import { checkCertificates } from '@parley/kernel/tls/check-certificates';
import { schemas, topics } from '@parley/units';
import { adminCommand } from './admin/admin-command.ts';
import { adminOptions, typedAdmin } from './admin/admin-options.ts';
import { adminCommandList } from './admin/commands.ts';
import { deadLetterOptions, deadLettersCommand, deadLettersUsage, typedDeadLetters } from './dead-letters-command.ts';
import { migrateAll } from './migrate-all.ts';
import { lookupInSettings } from './rpc/invoke.ts';
import { topicsCommand } from './topics-command.ts';

const usage = `Prepares and checks the engines of an installation for all units, and administers its tenants and users. The usage texts of
scripts/migrate, scripts/topics and scripts/admin list the settings.

  migrate                   migrates every schema to the newest version
  topics [--replication N]  creates the Kafka topics of all events
  doctor [--unit UNIT]... [--installation FILE] [--json]
                            checks the settings against the engines, and lists what to change
  admin COMMAND --as NAME [--json]
                            administers tenants and users; NAME is your name for the audit
  dead-letters list|replay TOPIC [--group GROUP] [--id ID] [--all]
                            shows events that their consumer could not handle, or publishes them again

Arguments of doctor:
${doctorUsage}
Commands of admin, which reads IDENTITY_RPC_URL, ACTION_RPC_URL, SESSION_RPC_URL and OPERATOR_KEY:
${adminCommandList('admin')}
Arguments of dead-letters:
${deadLettersUsage}`;

// Node as process 1 of a container would otherwise ignore these signals. An interrupted migration is rolled back.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const run = chosen(process.argv.slice(2));
if (run) await attempt(run);
else {
  process.stderr.write(usage);
  process.exitCode = 2;
}

async function attempt(work: () => Promise<unknown>): Promise<void> {
  try {
    // The doctor reports certificate problems itself.
    if (process.argv[2] !== 'doctor') checkCertificates(process.env);
    await work();
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}

/** Returns the command that the arguments select; undefined if they are invalid. */
function chosen([command = '', ...args]: string[]): (() => Promise<unknown>) | undefined {
  try {
    if (command === 'doctor') {
      const { values } = parseArgs({ args, options: doctorOptions });
      return async () => {
        process.exitCode = await doctorCommand(values, process.env, process);
      };
    }
    if (command === 'admin') {
      const { values, positionals } = parseArgs({ args, options: adminOptions, allowPositionals: true });
      if (positionals.length === 0) return undefined;
      return async () => {
        const { env, stdin, stdout, stderr } = process;
        const terminal = { stdout, stderr, read: () => text(stdin) };
        const { signal } = new AbortController();
        process.exitCode = await adminCommand(typedAdmin({ ...values, positionals }), {
          env,
          lookup: lookupInSettings,
          terminal,
          signal,
        });
      };
    }
    if (command === 'dead-letters') {
      const { values, positionals } = parseArgs({ args, options: deadLetterOptions, allowPositionals: true });
      const request = typedDeadLetters(positionals, values);
      return request && (() => deadLettersCommand(request, process.env, console.log));
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
