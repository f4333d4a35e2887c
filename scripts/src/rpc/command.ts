import { parseArgs } from 'node:util';
import { type Environment, SettingsError } from '@parley/chassis/config';
import { call, callFailure } from './call.ts';
import { callerOf } from './caller-options.ts';
import { loadCatalogue, methodOf, type UnitMethods, unitOf } from './catalogue.ts';
import { describeUnits } from './describe.ts';
import { exampleRequest } from './example-request.ts';
import { meshCallers, rpcAddress } from './find-mesh.ts';
import { requestFromJson } from './json-request.ts';
import { UsageError } from './usage-error.ts';

const usage = `Calls the gRPC of one unit of the mesh.

  scripts/rpc                          lists all units and their methods
  scripts/rpc UNIT                     lists the methods of one
  scripts/rpc UNIT METHOD --example    prints a request to start from
  scripts/rpc UNIT METHOD [JSON]       calls it; JSON is {} by default, and - reads it from the standard input

  --tenant ID        the tenant on whose behalf; without it, none
  --kind KIND        who asks: service, user, apiKey or session; by default what --user or --session say, else service
  --user ID          the user who asks
  --session ID       the session whose token is presented
  --address ADDRESS  host:port of the unit; else <UNIT>_RPC_URL; else that of the mesh that scripts/up runs
  --timeout-ms MS    how long one answer may take, default 30000; streams have no limit

Callers are signed with MESH_KEY, else with the key in the data folder (PARLEY_DATA_DIR, default .parley).
An answer is printed as JSON, a stream's answers a line each until it ends or Ctrl-C. int64 stands as text, bytes in base64,
times in RFC 3339. A refused call prints its code, message, reason and fields on the standard error and exits with 1.
`;

export interface Terminal {
  stdout: { write(text: string): unknown };
  stderr: { write(text: string): unknown };
  /** All of the standard input. */
  readInput(): Promise<string>;
}

export interface Around {
  env: Environment;
  /** The folder of the `.proto` files. */
  protos: string;
  /** Where a mesh of this machine keeps its keys and addresses. */
  dataFolder: string;
  terminal: Terminal;
  /** Aborted when whoever types has seen enough. */
  signal: AbortSignal;
}

/** @returns the exit code: 1 for a call that failed, 2 for one that could not be made, 130 for one that was cut. */
export async function rpcCommand(args: string[], around: Around): Promise<number> {
  const { stdout, stderr } = around.terminal;
  try {
    const { values, positionals } = parse(args);
    if (values.help) return write(stdout, usage);
    const catalogue = loadCatalogue(around.protos);
    const [unit, method, json, ...more] = positionals;
    if (more.length > 0) throw new UsageError(`What is ${more[0]}? The request is one JSON text in quotes`);
    if (unit === undefined) return write(stdout, describeUnits(catalogue));
    if (method === undefined) return write(stdout, describeUnits([unitOf(catalogue, unit)]));
    const found = methodOf(unitOf(catalogue, unit), method);
    if (values.example) return write(stdout, `${JSON.stringify(exampleRequest(found.request), null, 2)}\n`);
    return await callIt({ catalogue, unit, method, json }, values, around);
  } catch (error) {
    if (!(error instanceof UsageError) && !(error instanceof SettingsError)) throw error;
    stderr.write(`${error.message}\n`);
    return 2;
  }
}

interface Typed {
  catalogue: UnitMethods[];
  unit: string;
  method: string;
  json: string | undefined;
}

async function callIt(typed: Typed, values: ReturnType<typeof parse>['values'], around: Around): Promise<number> {
  const { env, dataFolder, terminal, signal } = around;
  const method = methodOf(unitOf(typed.catalogue, typed.unit), typed.method);
  if (method.takesStream) throw new UsageError(`${method.name} takes a stream, which cannot be typed`);
  const caller = callerOf(values);
  const timeoutMs = timeoutOf(values['timeout-ms']);
  const address = values.address ?? rpcAddress(typed.unit, env, dataFolder);
  const callers = await meshCallers(env, dataFolder);
  const text = typed.json === '-' ? await terminal.readInput() : (typed.json ?? '{}');
  const request = requestFromJson(method.request, text);
  const indent = method.answersStream ? 0 : 2;
  try {
    const answers = call({ method, request, unit: typed.unit, address, caller, callers, timeoutMs, signal });
    for await (const answer of answers) terminal.stdout.write(`${JSON.stringify(answer, null, indent)}\n`);
    return 0;
  } catch (error) {
    if (signal.aborted) return method.answersStream ? 0 : 130;
    const failure = callFailure(error, caller.requestId);
    if (!failure) throw error;
    terminal.stderr.write(`${JSON.stringify(failure, null, 2)}\n`);
    return 1;
  }
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        tenant: { type: 'string' },
        kind: { type: 'string' },
        user: { type: 'string' },
        session: { type: 'string' },
        address: { type: 'string' },
        'timeout-ms': { type: 'string', default: '30000' },
        example: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

function timeoutOf(text: string): number {
  const timeoutMs = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (timeoutMs === 0) throw new UsageError(`--timeout-ms is no number of milliseconds: ${text}`);
  return timeoutMs;
}

function write(to: { write(text: string): unknown }, text: string): 0 {
  to.write(text);
  return 0;
}
