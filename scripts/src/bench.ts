import { availableParallelism, cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { bench } from './bench/bench.ts';
import { table } from './bench/table.ts';

const usage = `Measures what a person waits for, on this machine, beside the goals.

  scripts/bench [--rounds N] [--only mesh|gateway] [--json] [--cpu-prof FOLDER]

  --rounds    how often each path is measured in turn; the table has the medians (default 5)
  --only      the whole mesh alone, or the gateway alone
  --json      the figures as JSON
  --cpu-prof  has the mesh write a CPU profile into this folder, which costs some time in all figures

The whole mesh runs as scripts/up runs it, in a process of its own, on a data folder of its own. Its model is a server in the
bench's process that answers at once. Latencies are those of a client over HTTP and WebSocket, from before sendMessage is
written until the first chunk has arrived, less what the same client waits for the same server's first chunk when it
asks it directly; both are taken in turn, in every round, and their quantiles subtracted. All parties share this machine's
cores, so run nothing beside it.

The gateway alone stands in front of services that answer at once, in turn with a bare @apollo/gateway in front of the same, and
its sockets beside a bare graphql-ws server. With REDIS_URL its throttle counts there.
`;

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    only: { type: 'string' },
    json: { type: 'boolean', default: false },
    'cpu-prof': { type: 'string' },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
const rounds = Number(values.rounds);
const { only } = values;

if (values.help) {
  process.stdout.write(usage);
} else if (!Number.isInteger(rounds) || rounds < 1) {
  process.stderr.write('--rounds is a whole number above 0\n');
  process.exitCode = 2;
} else if (only !== undefined && only !== 'mesh' && only !== 'gateway') {
  process.stderr.write('--only is mesh or gateway\n');
  process.exitCode = 2;
} else {
  const profileFolder = values['cpu-prof'];
  const figures = await bench({
    rounds,
    ...(only && { only }),
    ...(profileFolder && { profileFolder }),
    say: (text) => void process.stderr.write(`${text}\n`),
  });
  const machine = { cpu: cpus()[0]?.model ?? 'unknown', cores: availableParallelism(), node: process.version };
  process.stdout.write(values.json ? `${JSON.stringify({ machine, rounds, figures }, null, 2)}\n` : table(figures));
}
