import { kafkaDeadLetters, type StoredDeadLetter } from '@parley/events/kafka-dead-letters';
import { type Environment, readSettings } from '@parley/kernel/config';
import { neededKafkaSettings } from '@parley/kernel/shared-settings';

export interface DeadLetterRequest {
  action: 'list' | 'replay';
  topic: string;
  group?: string | undefined;
  id?: string | undefined;
  /** Also lists letters that were replayed. They are never replayed again. */
  all: boolean;
}

/** Does what is asked, and says which letters that was about. */
export async function deadLettersCommand(request: DeadLetterRequest, env: Environment, say: (line: string) => void) {
  const { action, topic, group, id, all } = request;
  const letters = kafkaDeadLetters(readSettings(env, neededKafkaSettings));
  try {
    const chosen = (await letters.list(topic)).filter(
      (letter) =>
        (group === undefined || letter.facts.group === group) &&
        (id === undefined || letter.event?.id === id) &&
        (!letter.wasReplayed || (all && action === 'list')) &&
        (letter.message.value !== null || action === 'list'), // one that was too large was stored without its value
    );
    for (const letter of chosen) {
      if (action === 'replay') await letters.replay(topic, letter);
      say(describe(letter));
    }
    say(`${chosen.length} dead letter${chosen.length === 1 ? '' : 's'}${outcome[action]}`);
  } finally {
    await letters.close();
  }
}

const outcome = { list: '', replay: ' sent again' };

/** One line of JSON without the payload, which may contain personal data. */
function describe({ position, facts, event, wasReplayed }: StoredDeadLetter): string {
  const { group, attempts, reason, time } = facts;
  const { id, type, key, tenantId } = event ?? {};
  return JSON.stringify({ id, type, key, tenantId, group, attempts, reason, time, position, wasReplayed });
}
