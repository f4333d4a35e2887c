import { engines } from '@parley/servers/engines';
import { down, type FleetOptions, isServed, type Server, settingsOf, status, up } from '@parley/servers/fleet';
import { foldersOf, serversHost } from '@parley/servers/folders';
import { readOptions } from './read-options.ts';

const names = engines.map(({ name }) => name);

const usage = `Real servers for this checkout, without Docker: PostgreSQL with pgvector, Redis, Kafka and S3.

  scripts/servers up       installs missing servers and starts those that are not running
  scripts/servers down     stops them and keeps their data
  scripts/servers reset    stops them and deletes their data
  scripts/servers status   shows their state; the exit code is 1 if one is not running
  scripts/servers env      the settings for clients: eval "$(scripts/servers env)"

  --only NAMES   only these servers, of ${names.join(',')}

If DATABASE_URL, REDIS_URL, KAFKA_BROKERS or S3_ENDPOINT is set, that server is used and none is started. A server that
this machine cannot run is skipped, with the reason. See also deploy/servers/README.md.
`;

const { only, positionals } = readOptions(usage, { only: { type: 'string' } }, 1);
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => stop.abort(new Error(`${signal}: nothing is left half done`)));
}
// A shell reads the stdout of `env`, so messages go to stderr.
const say = (line: string) => void process.stderr.write(`${line}\n`);
const print = (text: string) => void process.stdout.write(text);

process.exitCode = await main(only?.split(',') ?? names).catch((error: unknown) => {
  say(error instanceof Error ? error.message : String(error));
  return stop.signal.aborted ? 130 : 1;
});

async function main(wanted: string[]): Promise<number> {
  const unknown = wanted.find((each) => !names.some((name) => name === each));
  if (unknown !== undefined) {
    say(`${unknown}: unknown; known are ${names.join(', ')}`);
    return 2;
  }
  const chosen = names.filter((name) => wanted.includes(name));
  const given = { folders: foldersOf(process.env), env: process.env, signal: stop.signal };
  const options: FleetOptions = { ...given, host: serversHost(process.env), only: chosen, say };
  switch (positionals[0]) {
    case 'up':
      return reportUp(await up(options));
    case 'down':
    case 'reset':
      if ((await down(options, { clear: positionals[0] === 'reset' })).length === 0) say('none of them was running');
      return 0;
    case 'status':
      return reportStatus(await status(options));
    case 'env':
      return reportEnv(await status(options));
    default:
      say(usage);
      return 2;
  }
}

function reportUp(servers: Server[]): number {
  const count = servers.filter(isServed).length;
  print(`${count} of ${servers.length} are up. eval "$(scripts/servers env)" configures this shell.\n`);
  return servers.some(({ state }) => state === 'failed') ? 1 : 0;
}

function reportStatus(servers: Server[]): number {
  for (const { engine, note } of servers) print(`${engine.title.padEnd(16)}${note}\n`);
  return servers.every(isServed) ? 0 : 1;
}

function reportEnv(servers: Server[]): number {
  for (const [name, value] of Object.entries(settingsOf(servers, process.env))) {
    print(`export ${name}='${value.replaceAll("'", `'\\''`)}'\n`);
  }
  for (const server of servers) if (!isServed(server)) say(`${server.engine.title} is not up: scripts/servers up`);
  return servers.every(isServed) ? 0 : 1;
}
