import { attempt } from './attempt.ts';
import { readOptions } from './read-options.ts';
import { rpcCommand } from './rpc/command.ts';

const usage = `Calls the gRPC of one unit of the mesh, by buf curl.

  scripts/rpc                      lists all units and their methods
  scripts/rpc UNIT                 shows the proto of one: its methods, and what they take and answer
  scripts/rpc UNIT METHOD [JSON]   calls it; JSON is {} by default

  --tenant ID        the tenant on whose behalf; without it, none
  --user ID          asks as this user; without one of these three, as the mesh itself
  --session ID       asks with the token of this session
  --api-key          asks with an API key
  --timeout-ms MS    how long the call may take; without it, there is no limit

The unit is where <UNIT>_RPC_URL says, and callers are signed with MESH_KEY; else both are those of the mesh that scripts/up
runs on the data folder (PARLEY_DATA_DIR). Answers are protobuf's JSON, a stream's one after the other until it ends or
Ctrl-C. A refused call prints its code, message, details and request id on the standard error and exits with 1.
`;

const [string, boolean] = [{ type: 'string' }, { type: 'boolean' }] as const;
const options = { tenant: string, user: string, session: string, 'timeout-ms': string, 'api-key': boolean };
const { positionals, 'api-key': apiKey, ...numbers } = readOptions(usage, options, 3);

await attempt(async () => {
  process.exitCode = await rpcCommand({ positionals, apiKey, numbers }, process.env);
});
