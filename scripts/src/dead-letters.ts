import {
  deadLetterOptions,
  deadLettersCommand,
  deadLettersUsage,
  typedDeadLetters,
} from '@parley/commands/dead-letters-command';
import { attempt } from './attempt.ts';
import { readOptions } from './read-options.ts';

const usage = `Shows events that their consumer could not handle in any attempt, and publishes them again.

  scripts/dead-letters list TOPIC [--group GROUP] [--id ID] [--all]
  scripts/dead-letters replay TOPIC [--group GROUP] [--id ID]

${deadLettersUsage}`;

const { positionals, ...chosen } = readOptions(usage, deadLetterOptions, 2);
const request = typedDeadLetters(positionals, chosen);
if (request) {
  await attempt(() => deadLettersCommand(request, process.env, console.log));
} else {
  process.stderr.write(usage);
  process.exitCode = 2;
}
