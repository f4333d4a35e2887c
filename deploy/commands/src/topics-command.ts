import { makeTopics } from '@parley/events/kafka-topics';
import type { TopicDeclaration } from '@parley/events/topics';
import { type Environment, readSettings } from '@parley/kernel/settings/config';
import { positiveInt } from '@parley/kernel/settings/setting-types';
import { neededKafkaSettings } from '@parley/kernel/settings/shared-settings';

/** Creates the topics and prints the result of each. @param copies replicas of each partition. Default: chosen by `makeTopics` */
export async function topicsCommand(
  topics: TopicDeclaration[],
  env: Environment,
  say: (line: string) => void,
  copies?: string,
) {
  const kafka = readSettings(env, neededKafkaSettings);
  const replication = copies === undefined ? undefined : positiveInt.parse(copies);
  const outcomes = await makeTopics(topics, { ...kafka, replication });
  const width = Math.max(...outcomes.map(({ name }) => name.length));
  for (const { name, change, note } of outcomes) say(`${name.padEnd(width)}  ${change}${note ? `, but ${note}` : ''}`);
}
