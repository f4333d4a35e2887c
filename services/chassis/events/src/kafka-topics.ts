import { setTimeout as delay } from 'node:timers/promises';
import kafkajs, { type Admin, type ConfigEntries } from 'kafkajs';
import { deadLetterTopic } from './event-bus.ts';
import { type KafkaConnection, kafkaClient } from './kafka-client.ts';
import { deadLetterRetentionMs, type TopicDeclaration } from './topics.ts';

export interface TopicOptions extends KafkaConnection {
  /** Number of replicas of each partition. Default: 3, or the number of brokers if that is smaller. */
  replication?: number | undefined;
}

/** The outcome for one topic. `note` names a difference from the declaration that `makeTopics` does not change. */
export interface TopicOutcome {
  name: string;
  change:
    | 'created'
    | 'retention changed'
    | 'cleanup.policy changed'
    | 'retention and cleanup.policy changed'
    | 'is there';
  note?: string;
}

const leaderMs = 15_000;

interface WantedTopic extends TopicDeclaration {
  replication: number;
}

/**
 * Creates missing topics, each with its dead-letter topic. Sets the declared retention of existing topics and disables their compaction;
 * does not change their partitions, replication and other settings. Idempotent.
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
    const existing = new Set(await admin.listTopics());
    const missing = wanted.filter(({ name }) => !existing.has(name));
    // `createTopics` resolves to false if another process creates the topics at the same time, which has the same effect.
    if (missing.length > 0) {
      await admin.createTopics({ topics: missing.map(creation), waitForLeaders: false }).catch((error: unknown) => {
        throw withReasons(error);
      });
    }
    await waitForLeaders(
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

/** kafkajs reports only that topics could not be created; the reasons are inside its error. */
function withReasons(error: unknown): unknown {
  if (!(error instanceof Error && 'errors' in error && Array.isArray(error.errors))) return error;
  const reasons = error.errors.map(({ topic, message }) => `${topic}: ${message}`);
  return new Error(`topics cannot be made: ${reasons.join('; ')}`, { cause: error });
}

/** A new topic is unknown for a moment, which kafkajs' own `waitForLeaders` treats as an error. */
async function waitForLeaders(admin: Admin, names: string[]): Promise<void> {
  if (names.length === 0) return;
  const timeoutSignal = AbortSignal.timeout(leaderMs);
  for (;;) {
    const found = await admin.fetchTopicMetadata({ topics: names }).catch((error: unknown) => {
      if (timeoutSignal.aborted) throw error;
      return undefined;
    });
    if (found?.topics.every((topic) => topic.partitions.every(({ leader }) => leader >= 0))) return;
    timeoutSignal.throwIfAborted();
    await delay(50);
  }
}

/**
 * Settings that every topic must have, even a topic that another program created. Compaction would drop all but the newest event of a key.
 */
const settingsOf = ({ retentionMs }: Pick<TopicDeclaration, 'retentionMs'>) => ({
  'retention.ms': String(retentionMs),
  'cleanup.policy': 'delete',
});

function creation({ name, partitions, retentionMs, replication }: WantedTopic) {
  return {
    topic: name,
    numPartitions: partitions,
    replicationFactor: replication,
    configEntries: [
      ...Object.entries(settingsOf({ retentionMs })).map(([name, value]) => ({ name, value })),
      // With three replicas one broker may be down while every acknowledged event is on two disks.
      { name: 'min.insync.replicas', value: String(Math.max(1, replication - 1)) },
    ],
  };
}

type Named = Pick<TopicDeclaration, 'name'>;

const namesOf = (topics: readonly Named[]) => topics.map(({ name }) => name);

/** The state of a topic on the brokers. */
export interface TopicState {
  partitions: number;
  /** How long events are kept, in ms. Undefined if the topic's settings were not requested. */
  retentionMs: number | undefined;
  /** The smallest number of replicas that any partition has. */
  replicas: number;
  /** The smallest number of in-sync replicas that any partition has. */
  inSync: number;
  /** How many replicas must be in sync for an event to be accepted. Undefined if the topic's settings were not requested. */
  minInSync: number | undefined;
  /** The cleanup policy, e.g. `delete`. Undefined if the topic's settings were not requested. */
  cleanupPolicy: string | undefined;
  /** Maximum size of each partition in bytes; negative if unlimited. Undefined if the topic's settings were not requested. */
  retentionBytes: number | undefined;
  /** Maximum size in bytes of one partition's events in a request. Undefined if the topic's settings were not requested. */
  maxMessageBytes: number | undefined;
}

/**
 * Describes those of the given topics that exist.
 * @param readable topics whose settings are read, which requires a separate right
 */
export async function describeTopics(
  admin: Admin,
  topics: readonly Named[],
  readable: readonly Named[] = topics,
): Promise<Map<string, TopicState>> {
  const existing = new Set(await admin.listTopics());
  const found = namesOf(topics).filter((name) => existing.has(name));
  if (found.length === 0) return new Map();
  const metadata = await admin.fetchTopicMetadata({ topics: found });
  const configs = await configsOf(
    admin,
    namesOf(readable).filter((name) => existing.has(name)),
  );
  return new Map(
    metadata.topics.map(({ name, partitions }) => {
      const textOf = (config: string) =>
        configs.get(name)?.find(({ configName }) => configName === config)?.configValue;
      const valueOf = (config: string) => {
        const value = textOf(config);
        return value === undefined ? undefined : Number(value);
      };
      const state = {
        partitions: partitions.length,
        retentionMs: valueOf('retention.ms'),
        replicas: Math.min(...partitions.map(({ replicas }) => replicas.length)),
        inSync: Math.min(...partitions.map(({ isr }) => isr.length)),
        minInSync: valueOf('min.insync.replicas'),
        cleanupPolicy: textOf('cleanup.policy'),
        retentionBytes: valueOf('retention.bytes'),
        maxMessageBytes: valueOf('max.message.bytes'),
      };
      return [name, state];
    }),
  );
}

async function configsOf(admin: Admin, names: string[]) {
  if (names.length === 0) return new Map<string, ConfigEntries[]>();
  const type = kafkajs.ConfigResourceTypes.TOPIC;
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: names.map((name) => ({ type, name })),
  });
  return new Map(resources.map(({ resourceName, configEntries }) => [resourceName, configEntries]));
}

async function adjust(admin: Admin, { name, partitions, retentionMs }: WantedTopic): Promise<TopicOutcome> {
  const { topics } = await admin.fetchTopicMetadata({ topics: [name] });
  const found = topics[0]?.partitions.length ?? 0;
  const note = found === partitions ? {} : { note: `has ${found} partitions, ${partitions} are declared` };
  const type = kafkajs.ConfigResourceTypes.TOPIC;
  const entries = (await configsOf(admin, [name])).get(name) ?? [];
  const wanted = Object.entries(settingsOf({ retentionMs }));
  const differing = wanted.filter(
    ([setting, value]) =>
      !entries.some(({ configName, configValue }) => configName === setting && configValue === value),
  );
  if (differing.length === 0) return { name, change: 'is there', ...note };
  // This call replaces all settings of the topic, so the settings that an operator has made are sent again.
  const kept = entries
    .filter(
      ({ configName, isDefault, readOnly }) => !isDefault && !readOnly && !wanted.some(([set]) => set === configName),
    )
    .map((entry) => ({ name: entry.configName, value: entry.configValue }));
  const configEntries = [...kept, ...wanted.map(([setting, value]) => ({ name: setting, value }))];
  await admin.alterConfigs({ validateOnly: false, resources: [{ type, name, configEntries }] });
  if (differing.length > 1) return { name, change: 'retention and cleanup.policy changed', ...note };
  const isRetention = differing.some(([setting]) => setting === 'retention.ms');
  return { name, change: isRetention ? 'retention changed' : 'cleanup.policy changed', ...note };
}
