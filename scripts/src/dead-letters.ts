import { parseArgs } from 'node:util';
import { type DeadLetterRequest, deadLettersCommand } from './dead-letters/dead-letters-command.ts';

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

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    group: { type: 'string' },
    id: { type: 'string' },
    all: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h' },
  },
});

const [action, topic, ...rest] = positionals;
if (values.help) {
  process.stdout.write(usage);
} else if ((action !== 'list' && action !== 'replay') || topic === undefined || rest.length > 0) {
  process.stderr.write(usage);
  process.exitCode = 2;
} else {
  const request: DeadLetterRequest = { action, topic, group: values.group, id: values.id, all: values.all };
  process.exitCode = await deadLettersCommand(request, process.env, process);
}
