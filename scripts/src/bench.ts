import { availableParallelism, cpus } from 'node:os';
import { parts } from '@parley/bench/bench';
import { type Figure, table } from '@parley/bench/figures';
import { readOptions } from './read-options.ts';

const names = Object.keys(parts);
const usage = `Measures how long people wait for each path on this machine, and prints the figures beside the goals.
See also deploy/bench/README.md.

  scripts/bench [--rounds N] [--only PART]… [--turns] [--chunks N] [--others N] [--kept URL] [--flood NAME]
                [--short] [--json] [--cpu-prof FOLDER]

  --rounds    rounds in which every path is measured; the table has the medians (default 5)
  --only      ${names.join(', ')}; may be repeated (default: all parts)
  --turns     for local and mesh: only the cost of a turn
  --chunks    for retrieval: adds a knowledge base of N chunks; 1000000 take half an hour to store
  --others    for retrieval: adds N chunks of another tenant to the partition that four bases share
  --kept      for retrieval: the database that keeps the chunks for the next run
  --flood     for floods: only the one whose name contains NAME, e.g. turns
  --short     measures almost nothing, to check that the bench runs; its figures have no meaning
  --json      prints the figures as JSON
  --cpu-prof  writes CPU profiles of the measured processes into FOLDER, which raises all figures a little

All measured processes share the machine's processors: run nothing else meanwhile.
`;

const { only, short, turns, kept, json, ...given } = readOptions(usage, {
  rounds: { type: 'string', default: '5' },
  only: { type: 'string', multiple: true, default: names },
  turns: { type: 'boolean', default: false },
  chunks: { type: 'string' },
  others: { type: 'string' },
  kept: { type: 'string' },
  flood: { type: 'string' },
  short: { type: 'boolean', default: false },
  json: { type: 'boolean' },
  'cpu-prof': { type: 'string' },
});
const rounds = Number(given.rounds);
const wrong =
  ((!Number.isInteger(rounds) || rounds < 1) && '--rounds is a whole number above 0\n') ||
  (given.chunks !== undefined && !(Number(given.chunks) > 100_000) && '--chunks is a number above 100000\n') ||
  (given.others !== undefined && !(Number(given.others) > 0) && '--others is a number above 0\n') ||
  (!only.every((name) => names.includes(name)) && `--only is one of ${names.join(', ')}\n`);
if (wrong) {
  process.stderr.write(wrong);
  process.exit(2);
}

// Exits explicitly, so that child processes end and temporary files are removed.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
const say = (text: string) => void process.stderr.write(`${text}\n`);
const figures: (Figure & { part: string })[] = [];
const leftOut: string[] = [];
for (const [name, measure] of Object.entries(parts)) {
  if (!only.includes(name)) continue;
  if (turns && name !== 'local' && name !== 'mesh') continue;
  const leaveOut = (what: string) => void (leftOut.includes(what) || leftOut.push(what));
  const options = {
    rounds,
    short,
    turnsOnly: turns,
    largest: given.chunks === undefined ? undefined : Number(given.chunks),
    others: given.others === undefined ? undefined : Number(given.others),
    keptUrl: kept,
    flood: given.flood,
    profileFolder: given['cpu-prof'],
    say,
    leaveOut,
  };
  for (const figure of await measure(options)) figures.push({ part: name, ...figure });
}
const machine = { cpu: cpus()[0]?.model ?? 'unknown', cores: availableParallelism(), node: process.version };
const lines = leftOut.map((what) => `left out: ${what}\n`).join('');
process.stdout.write(
  json ? `${JSON.stringify({ machine, rounds, figures, leftOut }, null, 2)}\n` : table(figures) + lines,
);
