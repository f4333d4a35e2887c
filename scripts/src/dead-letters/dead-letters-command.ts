import { kafkaDeadLetters, type StoredDeadLetter } from '@parley/events/kafka-dead-letters';
import { type Environment, readSettings } from '@parley/kernel/config';
import { neededBrokersSetting } from '@parley/kernel/shared-settings';
import type { Terminal } from '@parley/mesh/migrate-all';

export interface DeadLetterRequest {
  action: 'list' | 'replay';
  topic: string;
  group?: string | undefined;
  id?: string | undefined;
  /** Also lists letters that were replayed. They are never replayed again. */
  all: boolean;
}

/** @returns the exit code of the process. */
export async function deadLettersCommand(
  { action, topic, group, id, all }: DeadLetterRequest,
  env: Environment,
  { stdout, stderr }: Terminal,
): Promise<0 | 1> {
  try {
    const { brokers } = readSettings(env, { brokers: neededBrokersSetting });
    const letters = kafkaDeadLetters({ brokers });
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
        stdout.write(`${describe(letter)}\n`);
      }
      stdout.write(`${chosen.length} dead letter${chosen.length === 1 ? '' : 's'}${outcome[action]}\n`);
      return 0;
    } finally {
      await letters.close();
    }
  } catch (error) {
    stderr.write(`${error instanceof Error ? error.message : error}\n`);
    return 1;
  }
}

const outcome = { list: '', replay: ' sent again' };

/** One line of JSON without the payload, which may contain personal data. */
function describe({ position, facts, event, wasReplayed }: StoredDeadLetter): string {
  const { group, attempts, reason, time } = facts;
  const { id, type, key, tenantId } = event ?? {};
  return JSON.stringify({ id, type, key, tenantId, group, attempts, reason, time, position, wasReplayed });
}
