import { makeTopics } from '@parley/events/kafka-topics';
import type { TopicDeclaration } from '@parley/events/topics';
import { type Environment, readSettings } from '@parley/kernel/config';
import { positiveInt } from '@parley/kernel/setting-types';
import { neededBrokersSetting } from '@parley/kernel/shared-settings';
import type { Terminal } from './migrate-all.ts';

/** Creates the topics and prints the outcome of each. @returns the exit code of the process. */
export async function topicsCommand(
  topics: TopicDeclaration[],
  replication: string | undefined,
  env: Environment,
  terminal: Terminal,
): Promise<0 | 1> {
  try {
    const { brokers } = readSettings(env, { brokers: neededBrokersSetting });
    const copies = replication === undefined ? undefined : positiveInt.parse(replication);
    const outcomes = await makeTopics(topics, { brokers, replication: copies });
    const width = Math.max(...outcomes.map(({ name }) => name.length));
    for (const { name, change, note } of outcomes) {
      terminal.stdout.write(`${name.padEnd(width)}  ${change}${note ? `, but ${note}` : ''}\n`);
    }
    return 0;
  } catch (error) {
    terminal.stderr.write(`${error instanceof Error ? error.message : error}\n`);
    return 1;
  }
}
