import { readOptions } from './read-options.ts';
import { rpcCommand } from './rpc/command.ts';

const usage = `Calls a gRPC method of one unit of the mesh.

  scripts/rpc                        lists all units and their methods
  scripts/rpc UNIT                   lists the methods of one unit
  scripts/rpc UNIT METHOD [JSON]     calls a method with the request JSON (default {}); protos/ has its fields

  --tenant ID        calls on behalf of this tenant; default: of no tenant
  --user ID          calls as this user; without --user, --session and --api-key, as the mesh itself
  --session ID       calls as the holder of this session's token
  --api-key          calls as the holder of an API key
  --timeout-ms MS    time limit of a call, default 30000; streams have none

<UNIT>_RPC_URL is the unit's address, and MESH_KEY signs the caller. Where these are not set, the command calls the mesh that
scripts/up runs on the data folder (PARLEY_DATA_DIR). It prints responses as protobuf's JSON. A stream is printed with one
response per line, until it ends or Ctrl-C. For a refused call it prints the code, message, reason and fields on standard
error, and the exit code is 1.
`;

const [string, boolean] = [{ type: 'string' }, { type: 'boolean' }] as const;
const numeric = { tenant: string, user: string, session: string, 'timeout-ms': string };
const options = { ...numeric, 'api-key': boolean };
const { positionals, 'api-key': apiKey, ...numbers } = readOptions(usage, options, 3);

const enough = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => enough.abort());
process.stdout.on('error', () => enough.abort()); // the reader of stdout has ended, e.g. `scripts/rpc … | head`

process.exitCode = await rpcCommand({ positionals, apiKey, numbers }, process.env, process, enough.signal);
