import { setTimeout as delay } from 'node:timers/promises';
import kafkajs, { type Admin } from 'kafkajs';
import { deadLetterTopic } from './event-bus.ts';
import { type KafkaConnection, kafkaClient } from './kafka-client.ts';
import { deadLetterRetentionMs, type TopicDeclaration } from './topics.ts';

export interface TopicOptions extends KafkaConnection {
  /** Copies of each partition. Default 3, or as many as there are brokers. */
  replication?: number | undefined;
}

/** What became of one topic. `note` says what is not as it is declared and stays so. */
export interface TopicOutcome {
  name: string;
  change: 'created' | 'retention changed' | 'is there';
  note?: string;
}

const leaderMs = 15_000;

interface WantedTopic extends TopicDeclaration {
  replication: number;
}

/**
 * Makes the topics that are missing, each with its dead-letter topic, and gives those that are there the declared
 * retention. Partitions and copies of a topic that is there stay as they are. Calling it again changes nothing.
 */
export async function makeTopics(topics: TopicDeclaration[], options: TopicOptions): Promise<TopicOutcome[]> {
  const admin = kafkaClient(options, { retries: 5 }).admin();
  await admin.connect();
  try {
    const { brokers } = await admin.describeCluster();
    const replication = options.replication ?? Math.min(3, brokers.length);
    const wanted = topics.flatMap((topic) => [
      { ...topic, replication },
      { name: deadLetterTopic(topic.name), partitions: 1, retentionMs: deadLetterRetentionMs, replication },
    ]);
    const there = new Set(await admin.listTopics());
    const missing = wanted.filter(({ name }) => !there.has(name));
    // False where somebody else makes them at the same moment: then they are there as well.
    if (missing.length > 0) await admin.createTopics({ topics: missing.map(creation), waitForLeaders: false });
    await untilLed(
      admin,
      missing.map(({ name }) => name),
    );
    const outcomes: TopicOutcome[] = [];
    for (const topic of wanted) {
      outcomes.push(missing.includes(topic) ? { name: topic.name, change: 'created' } : await adjust(admin, topic));
    }
    return outcomes;
  } finally {
    await admin.disconnect();
  }
}

/** A topic that was just made is unknown for a moment, which kafkajs' own waiting takes for an error. */
async function untilLed(admin: Admin, names: string[]): Promise<void> {
  if (names.length === 0) return;
  const late = AbortSignal.timeout(leaderMs);
  for (;;) {
    const found = await admin.fetchTopicMetadata({ topics: names }).catch((error: unknown) => {
      if (late.aborted) throw error;
      return undefined;
    });
    if (found?.topics.every((topic) => topic.partitions.every(({ leader }) => leader >= 0))) return;
    late.throwIfAborted();
    await delay(50);
  }
}

function creation({ name, partitions, retentionMs, replication }: WantedTopic) {
  return {
    topic: name,
    numPartitions: partitions,
    replicationFactor: replication,
    configEntries: [
      { name: 'retention.ms', value: String(retentionMs) },
      { name: 'cleanup.policy', value: 'delete' },
      // With three copies one broker may be away and nothing that was acknowledged is on a single disk.
      { name: 'min.insync.replicas', value: String(Math.max(1, replication - 1)) },
    ],
  };
}

async function adjust(admin: Admin, { name, partitions, retentionMs }: WantedTopic): Promise<TopicOutcome> {
  const { topics } = await admin.fetchTopicMetadata({ topics: [name] });
  const found = topics[0]?.partitions.length ?? 0;
  const note = found === partitions ? {} : { note: `has ${found} partitions, ${partitions} are declared` };
  const type = kafkajs.ConfigResourceTypes.TOPIC;
  const { resources } = await admin.describeConfigs({ includeSynonyms: false, resources: [{ type, name }] });
  const entries = resources[0]?.configEntries ?? [];
  if (entries.some((entry) => entry.configName === 'retention.ms' && entry.configValue === String(retentionMs))) {
    return { name, change: 'is there', ...note };
  }
  // This call replaces all settings of the topic, so those that somebody has made are said again.
  const kept = entries
    .filter((entry) => !entry.isDefault && !entry.readOnly && entry.configName !== 'retention.ms')
    .map((entry) => ({ name: entry.configName, value: entry.configValue }));
  const configEntries = [...kept, { name: 'retention.ms', value: String(retentionMs) }];
  await admin.alterConfigs({ validateOnly: false, resources: [{ type, name, configEntries }] });
  return { name, change: 'retention changed', ...note };
}
