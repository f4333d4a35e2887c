import { kafkaDeadLetters, type StoredDeadLetter } from '@parley/events/kafka-dead-letters';
import { type Environment, readSettings } from '@parley/kernel/settings/config';
import { neededKafkaSettings } from '@parley/kernel/settings/shared-settings';

export interface DeadLetterRequest {
  action: 'list' | 'replay';
  topic: string;
  group?: string | undefined;
  id?: string | undefined;
  /** Whether letters that were already replayed are listed, too. They are never replayed again. */
  all: boolean;
}

/** Options in the format of `parseArgs`. */
export const deadLetterOptions = {
  group: { type: 'string' },
  id: { type: 'string' },
  all: { type: 'boolean' },
} as const;

export const deadLettersUsage = `  TOPIC           the topic of the events, e.g. session-ended
  --group GROUP   only events that this consumer could not handle, e.g. evaluation
  --id ID         only the event with this id
  --all           includes events that were replayed
  KAFKA_BROKERS   host:port of one or more brokers, separated by commas

A replayed event is delivered only to the consumer group that could not handle it, after all events that this group has
handled meanwhile. So repair the consumer first, and check whether the event still applies. A replayed event is marked and
not published again. A replay that is interrupted before it marks the event may publish it twice; the consumer's inbox
discards the second one.
`;

/** Parses the arguments; undefined if they are invalid. */
export function typedDeadLetters(
  [action, topic, ...more]: string[],
  { all = false, ...chosen }: { group?: string | undefined; id?: string | undefined; all?: boolean | undefined },
): DeadLetterRequest | undefined {
  if ((action !== 'list' && action !== 'replay') || topic === undefined || more.length > 0) return undefined;
  return { action, topic, all, ...chosen };
}

/** Lists or replays dead letters, and prints each of them. */
export async function deadLettersCommand(request: DeadLetterRequest, env: Environment, say: (line: string) => void) {
  const { action, topic } = request;
  const letters = kafkaDeadLetters(readSettings(env, neededKafkaSettings));
  try {
    let count = 0;
    await letters.forEach(topic, async (letter) => {
      if (!isChosen(letter, request)) return;
      if (action === 'replay') await letters.replay(topic, letter);
      say(describe(letter));
      count += 1;
    });
    say(`${count} dead letter${count === 1 ? '' : 's'}${outcome[action]}`);
  } finally {
    await letters.close();
  }
}

function isChosen(
  { facts, event, wasReplayed, message }: StoredDeadLetter,
  { action, group, id, all }: DeadLetterRequest,
): boolean {
  return (
    (group === undefined || facts.group === group) &&
    (id === undefined || event?.id === id) &&
    (!wasReplayed || (all && action === 'list')) &&
    (message.value !== null || action === 'list') // an event that was too large was stored without its value
  );
}

const outcome = { list: '', replay: ' sent again' };

/** Formats a dead letter as one line of JSON, without the payload, which may contain personal data. */
function describe({ position, facts, event, wasReplayed }: StoredDeadLetter): string {
  const { group, attempts, reason, time } = facts;
  const { id, type, key, tenantId } = event ?? {};
  return JSON.stringify({ id, type, key, tenantId, group, attempts, reason, time, position, wasReplayed });
}
