import { attempt } from './attempt.ts';
import { deadLettersCommand } from './dead-letters/dead-letters-command.ts';
import { readOptions } from './read-options.ts';

const usage = `Shows events that no attempt of their consumer could handle, and sends them again.

  scripts/dead-letters list TOPIC [--group GROUP] [--id ID] [--all]
  scripts/dead-letters replay TOPIC [--group GROUP] [--id ID]

  TOPIC           the topic of the events, e.g. session-ended
  --group GROUP   only what this consumer gave up, e.g. evaluation
  --id ID         only the event of this id
  --all           also those that were replayed
  KAFKA_BROKERS   host:port of one broker or more, separated by commas

A replayed event goes to the group that gave it up and to no other: those had it already. It comes after what that group
has taken meanwhile, so mend the consumer first, and think of what has happened since. It is marked as replayed and not
sent twice; where a replay is cut short between the two it may be, and the consumer's inbox takes it once.
`;

const options = { group: { type: 'string' }, id: { type: 'string' }, all: { type: 'boolean' } } as const;
const { all = false, positionals, ...chosen } = readOptions(usage, options, 2);
const [action, topic] = positionals;
if ((action !== 'list' && action !== 'replay') || topic === undefined) {
  process.stderr.write(usage);
  process.exitCode = 2;
} else {
  await attempt(() => deadLettersCommand({ action, topic, all, ...chosen }, process.env, console.log));
}
