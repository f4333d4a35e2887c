import { readOptions } from './read-options.ts';
import { rpcCommand } from './rpc/command.ts';

const usage = `Calls the gRPC of one unit of the mesh.

  scripts/rpc                        lists all units and their methods
  scripts/rpc UNIT                   lists the methods of one
  scripts/rpc UNIT METHOD [JSON]     calls it; JSON is {} by default, and its fields stand in protos/

  --tenant ID        the tenant on whose behalf; without it, none
  --user ID          asks as this user; without one of these three, as the mesh itself
  --session ID       asks with the token of this session
  --api-key          asks with an API key
  --timeout-ms MS    how long one answer may take, default 30000; streams have no limit

The unit is where <UNIT>_RPC_URL says, and callers are signed with MESH_KEY; else both are those of the mesh that scripts/up
runs on the data folder (PARLEY_DATA_DIR). Answers are protobuf's JSON, a stream's a line each until it ends or Ctrl-C. A refused
call prints its code, message, reason and fields on the standard error and exits with 1.
`;

const [string, boolean] = [{ type: 'string' }, { type: 'boolean' }] as const;
const numeric = { tenant: string, user: string, session: string, 'timeout-ms': string };
const options = { ...numeric, 'api-key': boolean };
const { positionals, 'api-key': apiKey, ...numbers } = readOptions(usage, options, 3);

const enough = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => enough.abort());
process.stdout.on('error', () => enough.abort()); // the reader of stdout has ended, e.g. `scripts/rpc … | head`

process.exitCode = await rpcCommand({ positionals, apiKey, numbers }, process.env, process, enough.signal);
