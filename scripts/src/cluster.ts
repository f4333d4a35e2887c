import { type Command, UsageError } from '@parley/cluster/commands/command';
import { folders } from '@parley/cluster/folders';

/** The commands, each a module of `deploy/cluster`. */
const commands: Record<string, () => Promise<{ run: Command }>> = {
  up: () => import('@parley/cluster/commands/up'),
  status: () => import('@parley/cluster/commands/status'),
  env: () => import('@parley/cluster/commands/env'),
  images: () => import('@parley/cluster/commands/images'),
  install: () => import('@parley/cluster/commands/install'),
  down: () => import('@parley/cluster/commands/down'),
};

const usage = `A Kubernetes on this machine, without Docker. Needs root.

  scripts/cluster up       installs missing programs (ten minutes the first time) and starts a cluster
      --nodes NUMBER       the number of its nodes; default 1
  scripts/cluster status   shows its nodes and pods; exit code 1 when it is not up
  scripts/cluster env      the settings for kubectl: eval "$(scripts/cluster env)"
  scripts/cluster images   builds the images of all units by the project's Dockerfile, and loads them into the nodes
      UNIT…                only the images of these units
  scripts/cluster install  builds and loads images, starts engines beside the cluster, and installs the chart with its
                           small example
  scripts/cluster down     stops the cluster and removes all that it made on the machine, with its data

See also deploy/cluster/README.md.
`;

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => stop.abort(new Error(`${signal}: nothing is left half done`)));
}
// A shell reads the stdout of `env`, so messages go to stderr.
const say = (line: string) => void process.stderr.write(`${line}\n`);
const print = (text: string) => void process.stdout.write(text);

process.exitCode = await main(process.argv.slice(2)).catch((error: unknown) => {
  say(error instanceof Error ? error.message : String(error));
  if (error instanceof UsageError) say(`\n${usage}`);
  if (stop.signal.aborted) return 130;
  return error instanceof UsageError ? 2 : 1;
});

async function main([name = '', ...args]: string[]): Promise<number> {
  if ([name, ...args].some((each) => each === '--help' || each === '-h')) {
    print(usage);
    return 0;
  }
  const load = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!load) throw new UsageError(name === '' ? 'a command is missing' : `${name}: unknown`);
  const { run } = await load();
  return run({ folders, args, signal: stop.signal, say, print });
}
