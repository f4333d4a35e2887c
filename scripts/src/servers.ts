import { parseArgs } from 'node:util';
import type { EngineName } from '@parley/servers/engine';
import { down, engines, type FleetOptions, reset, type Server, settingsOf, status, up } from '@parley/servers/fleet';
import { foldersOf } from '@parley/servers/folders';
import { exportLines, statusTable } from '@parley/servers/report';
import { ensureTool, tools } from '@parley/servers/tools';

const names = engines.map(({ name }) => name);

const usage = `Real servers for this checkout, without Docker: PostgreSQL with pgvector, Redis, Kafka and S3.

  scripts/servers up [--only NAMES] [--require NAMES]   installs what is missing and starts what is not up
  scripts/servers down [--only NAMES]                   stops them; their data stay
  scripts/servers status [--only NAMES]                 shows them; exit code 1 when one is not up
  scripts/servers reset [--only NAMES]                  stops them and deletes their data
  scripts/servers env [--only NAMES] [--json]           what to configure: eval "$(scripts/servers env)"
  scripts/servers install [NAME]…                       installs without starting: ${tools.map(({ name }) => name).join(', ')}

NAMES: ${names.join(',')} or all. They listen on 127.0.0.1 only, on free ports, and go on after this command has ended.
Programs are kept in .tools/servers, data in .parley/servers or PARLEY_SERVERS_DIR. PostgreSQL does not run as root: for
root it runs as nobody, in the system's folder for temporary files where nobody cannot get to those folders.

A server that the environment names already (DATABASE_URL, REDIS_URL, KAFKA_BROKERS, S3_ENDPOINT) is used as it is. What
this machine cannot have is left out with the reason; exit code 3 says so where --require asks for it.
`;

const exitCodes = { failed: 1, usage: 2, unavailable: 3, interrupted: 130 };

class UsageError extends Error {}

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => stop.abort(new Error(`${signal}: nothing is left half done`)));
}

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = stop.signal.aborted
    ? exitCodes.interrupted
    : error instanceof UsageError
      ? exitCodes.usage
      : exitCodes.failed;
}

async function main(): Promise<number> {
  const { values, positionals } = readArguments();
  const [command, ...rest] = positionals;
  if (values.help) {
    process.stdout.write(usage);
    return 0;
  }
  const options: FleetOptions = {
    folders: foldersOf(process.env),
    env: process.env,
    only: namesIn(values.only),
    signal: stop.signal,
    // `env` is read by a shell, so what is told on the way goes to the person.
    say: (line) => process.stderr.write(`${line}\n`),
  };
  if (command !== 'install' && rest.length > 0) throw new UsageError(`${rest.join(' ')}: unknown`);
  switch (command) {
    case 'up':
      return reportUp(await up(options), namesIn(values.require ?? ''));
    case 'down':
      if ((await down(options)).length === 0) options.say('none of them ran');
      return 0;
    case 'reset':
      await reset(options);
      return 0;
    case 'status':
      return reportStatus(await status(options));
    case 'env':
      return reportEnv(await status(options), values.json);
    case 'install':
      for (const name of rest.length > 0 ? rest : tools.map((tool) => tool.name)) await ensureTool(name, options);
      return 0;
    default:
      throw new UsageError(usage);
  }
}

function readArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        only: { type: 'string', default: 'all' },
        require: { type: 'string' },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : usage);
  }
}

function namesIn(text: string): EngineName[] {
  if (text === 'all') return names;
  const given = text.split(',').filter(Boolean);
  const unknown = given.filter((each) => !names.some((name) => name === each));
  if (unknown.length > 0) throw new UsageError(`${unknown.join(', ')}: unknown; there are ${names.join(', ')}`);
  return names.filter((name) => given.includes(name));
}

function reportUp(servers: Server[], required: EngineName[]): number {
  const isServed = ({ state }: Server) => state === 'up' || state === 'configured';
  const count = servers.filter(isServed).length;
  process.stdout.write(`${count} of ${servers.length} are up. eval "$(scripts/servers env)" configures this shell.\n`);
  if (servers.some(({ state }) => state === 'failed')) return exitCodes.failed;
  const missing = required.filter((name) => !servers.some((each) => each.engine.name === name && isServed(each)));
  return missing.length > 0 ? exitCodes.unavailable : 0;
}

function reportStatus(servers: Server[]): number {
  process.stdout.write(statusTable(servers));
  return servers.every(({ state }) => state === 'up' || state === 'configured') ? 0 : exitCodes.failed;
}

function reportEnv(servers: Server[], json: boolean): number {
  const settings = settingsOf(servers, process.env);
  process.stdout.write(json ? `${JSON.stringify(settings, undefined, 2)}\n` : exportLines(settings));
  const absent = servers.filter(({ state }) => state !== 'up' && state !== 'configured');
  for (const { engine } of absent) process.stderr.write(`${engine.title} is not up: scripts/servers up\n`);
  return absent.length > 0 ? exitCodes.failed : 0;
}
