import { text } from 'node:stream/consumers';
import { adminCommand } from '@parley/commands/admin/admin-command';
import { adminOptions, maxWords, typedAdmin } from '@parley/commands/admin/admin-options';
import { adminCommandList } from '@parley/commands/admin/commands';
import { readOptions } from './read-options.ts';
import { lookupOnMachine } from './rpc/local-mesh.ts';

const usage = `What operators do with tenants and users.

${adminCommandList('scripts/admin')}
  --as NAME   who you are, for the audit; without it the user of the operating system
  --json      answers as protobuf's JSON, as the admin.proto of protos/parley/identity, action and session has them, and errors as scripts/rpc has them

Identity, action and session are where IDENTITY_RPC_URL, ACTION_RPC_URL and SESSION_RPC_URL say, and calls are signed with OPERATOR_KEY;
else these are those of the mesh that scripts/up runs on the data folder (PARLEY_DATA_DIR). A list ends after --first entries (50, at most 200) and says how to go on. The exit code
is 1 where the unit refuses, 2 where nothing could be asked.
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
