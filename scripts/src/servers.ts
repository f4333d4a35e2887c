import { parseArgs } from 'node:util';
import type { EngineName } from '@parley/servers/engine';
import { engines } from '@parley/servers/engines';
import { down, type FleetOptions, type Server, settingsOf, status, up } from '@parley/servers/fleet';
import { foldersOf } from '@parley/servers/folders';
import { ensureInstalled } from '@parley/servers/install';

const names = engines.map(({ name }) => name);

const usage = `Real servers for this checkout, without Docker: PostgreSQL with pgvector, Redis, Kafka and S3.

  scripts/servers up [--require NAMES]   installs what is missing and starts what is not up
  scripts/servers down                   stops them; their data stay
  scripts/servers reset                  stops them and deletes their data
  scripts/servers status                 shows them; exit code 1 when one is not up
  scripts/servers env [--json]           what to configure: eval "$(scripts/servers env)"
  scripts/servers install                installs without starting

  --only NAMES   of these alone: ${names.join(',')}

A server that the environment names already (DATABASE_URL, REDIS_URL, KAFKA_BROKERS, S3_ENDPOINT) is used as it is. What
this machine cannot have is left out with the reason; exit code 3 says so where --require asks for it. More stands in
deploy/servers/README.md.
`;

class UsageError extends Error {}

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => stop.abort(new Error(`${signal}: nothing is left half done`)));
}
// `env` is read by a shell, so what is told on the way goes to the person.
const say = (line: string) => void process.stderr.write(`${line}\n`);
const print = (text: string) => void process.stdout.write(text);

try {
  process.exitCode = await main();
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = stop.signal.aborted ? 130 : error instanceof UsageError ? 2 : 1;
}

async function main(): Promise<number> {
  const { values, positionals } = readArguments();
  const [command, ...rest] = positionals;
  if (values.help) {
    print(usage);
    return 0;
  }
  if (rest.length > 0) throw new UsageError(`${rest.join(' ')}: unknown`);
  const folders = foldersOf(process.env);
  const options: FleetOptions = { folders, env: process.env, only: namesIn(values.only), signal: stop.signal, say };
  switch (command) {
    case 'up':
      return reportUp(await up(options), namesIn(values.require));
    case 'down':
    case 'reset':
      if ((await down(options, { clear: command === 'reset' })).length === 0) say('none of them ran');
      return 0;
    case 'status':
      return reportStatus(await status(options));
    case 'env':
      return reportEnv(await status(options), values.json);
    case 'install':
      for (const engine of engines.filter(({ name }) => options.only.includes(name))) {
        await ensureInstalled(engine, { ...options, tools: folders.tools });
      }
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
        require: { type: 'string', default: '' },
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

function isServed({ state }: Server): boolean {
  return state === 'up' || state === 'configured';
}

function reportUp(servers: Server[], required: EngineName[]): number {
  const served = servers.filter(isServed);
  print(`${served.length} of ${servers.length} are up. eval "$(scripts/servers env)" configures this shell.\n`);
  if (servers.some(({ state }) => state === 'failed')) return 1;
  return required.every((name) => served.some(({ engine }) => engine.name === name)) ? 0 : 3;
}

function reportStatus(servers: Server[]): number {
  for (const server of servers) {
    const { title, version, setting } = server.engine;
    const words =
      server.state === 'up'
        ? `up, version ${version} on 127.0.0.1:${server.place.ports.main}, process ${server.pid}, in ${server.place.home}`
        : server.state === 'configured'
          ? `${setting} is set, that one is used`
          : server.reason;
    print(`${title.padEnd(16)}${words}\n`);
  }
  return servers.every(isServed) ? 0 : 1;
}

function reportEnv(servers: Server[], json: boolean): number {
  const settings = settingsOf(servers, process.env);
  const quoted = (value: string) => `'${value.replaceAll("'", `'\\''`)}'`;
  const lines = Object.entries(settings).map(([name, value]) => `export ${name}=${quoted(value)}\n`);
  print(json ? `${JSON.stringify(settings, undefined, 2)}\n` : lines.join(''));
  const absent = servers.filter((server) => !isServed(server));
  for (const { engine } of absent) say(`${engine.title} is not up: scripts/servers up`);
  return absent.length > 0 ? 1 : 0;
}
