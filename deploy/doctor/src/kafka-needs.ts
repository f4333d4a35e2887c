import { deadLetterTopic } from '@parley/events/event-bus';
import { kafkaGroup } from '@parley/events/kafka-event-bus';
import type { KafkaRight, KafkaRights } from '@parley/events/kafka-rights';
import { deadLetterRetentionMs, type TopicDeclaration } from '@parley/events/topics';
import { eventSettings } from '@parley/kernel/settings/shared-settings';
import type { ListedUnit } from '@parley/units';
import { type Outcome, ok, warning, wrong } from './outcome.ts';

const { brokers, login } = eventSettings.kafka;
const settings = [brokers.name, ...Object.values(login.settings).map(({ name }) => name)];

/** A right that a unit needs. */
interface NeededRight {
  unit: string;
  right: KafkaRight;
  on: 'topic' | 'group';
  name: string;
}

/** Rights and topics that units need in Kafka. */
export interface KafkaNeeds {
  /** The topics that the units publish to or consume from, with their dead-letter topics. */
  topics: TopicDeclaration[];
  rights: NeededRight[];
}

export function kafkaNeeds(units: readonly ListedUnit[], allUnits: readonly ListedUnit[]): KafkaNeeds {
  const allTopics = allUnits.flatMap(({ publishes = [] }) => publishes);
  const used = units.map(({ name, publishes = [], consumes = [] }) => ({
    name,
    publishes,
    consumes: allTopics.filter(({ types }) => types.some((type) => consumes.includes(type))),
  }));
  const topics = used.flatMap(({ publishes, consumes }) => [...publishes, ...consumes]).flatMap(withDeadLetters);
  const rights = used.flatMap(({ name: unit, publishes, consumes }): NeededRight[] => [
    ...publishes.map(({ name }) => ({ unit, right: 'Write' as const, on: 'topic' as const, name })),
    ...consumes.flatMap(({ name }): NeededRight[] => [
      { unit, right: 'Read', on: 'topic', name },
      { unit, right: 'Read', on: 'group', name: kafkaGroup(unit, name) },
      { unit, right: 'Write', on: 'topic', name: deadLetterTopic(name) },
    ]),
  ]);
  return { topics: [...new Map(topics.map((topic) => [topic.name, topic])).values()], rights };
}

function withDeadLetters(topic: TopicDeclaration): TopicDeclaration[] {
  return [topic, { name: deadLetterTopic(topic.name), partitions: 1, retentionMs: deadLetterRetentionMs }];
}

/** Returns the topics for which the login has this right; all topics if the brokers do not report rights. */
export function topicsWith(right: KafkaRight, rights: KafkaRights | undefined, topics: TopicDeclaration[]) {
  return topics.filter(({ name }) => rights?.topics.get(name)?.has(right) ?? rights === undefined);
}

/**
 * Reports the rights that units lack. Also reports the topics whose settings cannot be compared with their declarations, because the login
 * lacks the right DescribeConfigs.
 */
export function rightsOutcomes(rights: KafkaRights | undefined, { topics, rights: needed }: KafkaNeeds): Outcome[] {
  if (!rights) {
    const change = 'See in their ACLs whether it has the rights that deploy/README.md lists.';
    return [warning('kafka.rights', settings, 'brokers older than 2.3 do not tell what the login may do', change)];
  }
  const granted = { topic: rights.topics, group: rights.groups };
  const lacking = needed.filter(({ on, name, right }) => !granted[on].get(name)?.has(right));
  const outcomes = [...Map.groupBy(lacking, ({ unit }) => unit)].map(([unit, ofUnit]) => {
    const listed = ofUnit.map(({ right, on, name }) => `${right} on ${on} ${name}`).join(', ');
    const change = 'Add ACLs that allow it to its login; deploy/README.md lists the rights of each unit.';
    return wrong('kafka.rights', settings, `${unit} lacks ${listed}`, change);
  });
  if (outcomes.length === 0) outcomes.push(ok('kafka.rights', settings, 'the units have the rights that they need'));
  return [...outcomes, ...unreadOutcomes(rights, topics)];
}

function unreadOutcomes(rights: KafkaRights, topics: TopicDeclaration[]): Outcome[] {
  const seen = topicsWith('Describe', rights, topics);
  const read = topicsWith('DescribeConfigs', rights, seen);
  const unread = seen.filter((topic) => !read.includes(topic)).map(({ name }) => name);
  if (unread.length === 0) return [];
  const found = `the settings of topics are not known, for lack of DescribeConfigs on ${unread.join(', ')}`;
  return [warning('kafka.settings', settings, found, 'Allow the login that too. Units work without it.')];
}
