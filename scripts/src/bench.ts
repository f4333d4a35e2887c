import { availableParallelism, cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { type BenchPart, bench, benchParts } from '@parley/bench/bench';
import { table } from '@parley/bench/figures';

const usage = `Measures what a person waits for, on this machine, beside the goals.

  scripts/bench [--rounds N] [--only PART]… [--short] [--json] [--cpu-prof FOLDER]

  --rounds    how often each path is measured in turn; the table has the medians (default 5)
  --only      local, logins, gateway or mesh; may be given several times (default all)
  --short     next to nothing of each: shows that it runs, the figures mean nothing
  --json      the figures as JSON
  --cpu-prof  has what is measured write CPU profiles into this folder, which costs some time in all figures

local    The whole mesh as scripts/up runs it, in a process of its own, on a data folder of its own. Its model is a server in the
         bench's process that answers at once. Latencies are those of a client over HTTP and WebSocket, from before sendMessage is
         written until the first chunk has arrived, less what the same client waits for the same server's first chunk when it
         asks it directly; both are taken in turn, in every round, and their quantiles subtracted.
logins   The same mesh: what a login takes, and what others wait for while there are 20 logins a second.
gateway  The gateway alone in front of services that answer at once, in turn with a bare @apollo/gateway in front of the same,
         and its sockets beside a bare graphql-ws server. With REDIS_URL its throttle counts there.
mesh     Every unit a process of its own, as scripts/up --mesh runs them, on a PostgreSQL, Redis and Kafka of the bench's own:
         events from commit to consumer, sockets, throttle, first chunks over both gateways. Servers that are missing are
         installed; a machine that cannot have them leaves this out and says why.

All parties share this machine's cores, so run nothing beside it.
`;

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    only: { type: 'string', multiple: true, default: [...benchParts] },
    short: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    'cpu-prof': { type: 'string' },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
const rounds = Number(values.rounds);
const parts = values.only.flatMap((name): BenchPart[] => benchParts.filter((part) => part === name));

if (values.help) {
  process.stdout.write(usage);
} else if (!Number.isInteger(rounds) || rounds < 1) {
  process.stderr.write('--rounds is a whole number above 0\n');
  process.exitCode = 2;
} else if (parts.length < values.only.length) {
  process.stderr.write(`--only is one of ${benchParts.join(', ')}\n`);
  process.exitCode = 2;
} else {
  // What was started ends, and what was written is removed, as the process ends.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
  const profileFolder = values['cpu-prof'];
  const { figures, leftOut } = await bench(parts, {
    rounds,
    short: values.short,
    ...(profileFolder && { profileFolder }),
    say: (text) => void process.stderr.write(`${text}\n`),
  });
  const machine = { cpu: cpus()[0]?.model ?? 'unknown', cores: availableParallelism(), node: process.version };
  if (values.json) {
    process.stdout.write(`${JSON.stringify({ machine, rounds, figures, leftOut }, null, 2)}\n`);
  } else {
    process.stdout.write(table(figures));
    for (const what of leftOut) process.stdout.write(`left out: ${what}\n`);
  }
}
