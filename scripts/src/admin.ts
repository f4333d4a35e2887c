import { text } from 'node:stream/consumers';
import { adminCommand } from '@parley/commands/admin/admin-command';
import { adminOptions, maxWords, typedAdmin } from '@parley/commands/admin/admin-options';
import { adminCommandList } from '@parley/commands/admin/commands';
import { readOptions } from './read-options.ts';
import { lookupOnMachine } from './rpc/local-mesh.ts';

const usage = `Administers tenants and users, for operators.

${adminCommandList('scripts/admin')}
  --as NAME   your name for the audit; default: the user of the operating system
  --json      prints the responses of admin.proto (protos/parley/identity, action and session) as protobuf's JSON, and
              errors like scripts/rpc

IDENTITY_RPC_URL, ACTION_RPC_URL and SESSION_RPC_URL are the addresses of the units, and OPERATOR_KEY signs the calls. Where
these are not set, the command calls the mesh that scripts/up runs on the data folder (PARLEY_DATA_DIR). A list ends after
--first entries (default 50, at most 200) and prints how to continue. The exit code is 1 if the unit refuses the call, and 2
if nothing could be called.
`;

const typed = typedAdmin(readOptions(usage, adminOptions, maxWords));

const enough = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => enough.abort());
process.stdout.on('error', () => enough.abort()); // the reader of stdout has ended, e.g. `scripts/admin … | head`

if (typed.positionals.length === 0) {
  process.stderr.write(usage);
  process.exitCode = 2;
} else {
  const { env, stdin, stdout, stderr } = process;
  const terminal = { stdout, stderr, read: () => text(stdin) };
  process.exitCode = await adminCommand(typed, { env, lookup: lookupOnMachine, terminal, signal: enough.signal });
}
