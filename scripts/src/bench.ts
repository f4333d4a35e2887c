import { availableParallelism, cpus } from 'node:os';
import { parts } from '@parley/bench/bench';
import { type Figure, table } from '@parley/bench/figures';
import { readOptions } from './read-options.ts';

const names = Object.keys(parts);
const usage = `Measures what a person waits for, on this machine, beside the goals; deploy/bench/README.md says how.

  scripts/bench [--rounds N] [--only PART]… [--turns] [--chunks N] [--others N] [--kept URL] [--flood NAME]
                [--short] [--json] [--cpu-prof FOLDER]

  --rounds    how often each path is measured in turn; the table has the medians (default 5)
  --only      ${names.join(', ')}; may be given several times (default all)
  --turns     of local and mesh, only what a turn costs
  --chunks    of retrieval, one more base, of so many chunks; 1000000 take half an hour to fill
  --others    of retrieval, so many chunks of another tenant in the partition of four bases
  --kept      the database in which the chunks of retrieval are kept for the next run
  --flood     of floods, only the one whose name contains this, e.g. turns
  --short     next to nothing of each: shows that it runs, the figures mean nothing
  --json      the figures as JSON
  --cpu-prof  has what is measured write CPU profiles into this folder, which costs some time in all figures

All parties share this machine's cores, so run nothing beside it.
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
