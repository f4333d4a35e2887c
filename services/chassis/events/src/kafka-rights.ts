import { createRequire } from 'node:module';
import { setTimeout as delay } from 'node:timers/promises';
import type { Kafka } from 'kafkajs';
import { type KafkaConnection, kafkaClient } from './kafka-client.ts';

/** The bit of each operation in a broker's response, keyed by the names that ACLs use. */
const operations = { Read: 3, Write: 4, Describe: 8, DescribeConfigs: 10 } as const;

export type KafkaRight = keyof typeof operations;

/** The rights of a login on each requested topic and group. */
export interface KafkaRights {
  topics: Map<string, ReadonlySet<KafkaRight>>;
  groups: Map<string, ReadonlySet<KafkaRight>>;
}

/**
 * Asks the brokers what the login may do. The brokers report their own decisions (KIP-430), so the result is right for any authorizer.
 * Nothing is written, and the topics and groups need not exist. Undefined for brokers older than 2.3, which do not report rights.
 * @throws an error with the name `noCoordinator` when a group has no coordinator for some seconds.
 *
 * kafkajs 2.2.4 opens the connections, but does not support the versions of the requests that ask for rights. The version of kafkajs is
 * pinned, because this module uses private parts of kafkajs.
 */
export async function kafkaRights(
  connection: KafkaConnection,
  { topics, groups }: { topics: string[]; groups: string[] },
): Promise<KafkaRights | undefined> {
  const cluster = clusterOf(kafkaClient(connection, { retries: 20 })); // enough retries for a new cluster to create its offsets topic
  await cluster.connect();
  try {
    const broker = await cluster.brokerPool.findConnectedBroker();
    const isTold = requests.every(({ apiKey, apiVersion }) => (broker.versions[apiKey]?.maxVersion ?? 0) >= apiVersion);
    if (!isTold) return undefined;
    const [ofTopics, ofGroups] = await Promise.all([
      topics.length > 0 ? broker.connectionPool.send(topicsRequest(topics)) : [],
      Promise.all(groups.map(async (group) => [group, await rightsOfGroup(cluster, broker, group)] as const)),
    ]);
    return { topics: new Map(ofTopics), groups: new Map(ofGroups) };
  } finally {
    await cluster.disconnect();
  }
}

/** Only a group's coordinator reports the rights, and only a login that may describe the group learns which broker that is. */
async function rightsOfGroup(cluster: Cluster, broker: Broker, groupId: string): Promise<ReadonlySet<KafkaRight>> {
  try {
    await broker.findGroupCoordinator({ groupId });
  } catch (error) {
    if (error instanceof Error && 'type' in error && error.type === 'GROUP_AUTHORIZATION_FAILED') return new Set();
    // The call below retries after any other failure, such as a pending election of the coordinator.
  }
  const timeoutSignal = AbortSignal.timeout(coordinatorMs);
  for (;;) {
    const coordinator = await cluster.findGroupCoordinator({ groupId });
    const { error, rights } = await coordinator.connectionPool.send(groupRequest(groupId));
    if (!electing.has(error)) return rights;
    if (timeoutSignal.aborted)
      throw Object.assign(new Error(`No broker coordinates ${groupId}`), { name: noCoordinator });
    await delay(100);
  }
}

/**
 * The error codes COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE and NOT_COORDINATOR. Responses with such a code have no rights.
 */
const electing = new Set([14, 15, 16]);
const coordinatorMs = 10_000;
/** The name of the error that kafkajs itself throws when a group has no coordinator. */
export const noCoordinator = 'KafkaJSGroupCoordinatorNotFound';

const metadata = { apiKey: 3, apiVersion: 8, apiName: 'Metadata' };
const describeGroups = { apiKey: 15, apiVersion: 3, apiName: 'DescribeGroups' };
const requests = [metadata, describeGroups];

function topicsRequest(topics: string[]): ProtocolRequest<[string, ReadonlySet<KafkaRight>][]> {
  return {
    request: {
      ...metadata,
      encode: async () =>
        new Encoder()
          .writeArray(topics)
          .writeBoolean(false) // do not create topics
          .writeBoolean(false) // without rights on the cluster
          .writeBoolean(true), // with rights on topics
    },
    response: answer((decoder) => {
      decoder.readInt32(); // throttle time
      decoder.readArray(skipBroker);
      decoder.readString(); // cluster id
      decoder.readInt32(); // controller id
      return decoder.readArray(() => {
        decoder.readInt16(); // error code; with an error, rights are missing or the topic does not exist
        const name = decoder.readString();
        decoder.readBoolean(); // whether the topic is internal
        decoder.readArray(skipPartition);
        return [name, rightsIn(decoder.readInt32())];
      });
    }),
  };
}

function skipBroker(decoder: Decoder): void {
  decoder.readInt32(); // broker id
  decoder.readString(); // host
  decoder.readInt32(); // port
  decoder.readString(); // rack
}

function skipPartition(decoder: Decoder): void {
  decoder.readInt16(); // error code
  for (let field = 0; field < 3; field += 1) decoder.readInt32(); // partition, leader, leader epoch
  for (let list = 0; list < 3; list += 1) decoder.readArray(() => decoder.readInt32()); // all, in-sync and offline replicas
}

function groupRequest(groupId: string): ProtocolRequest<{ error: number; rights: ReadonlySet<KafkaRight> }> {
  return {
    request: { ...describeGroups, encode: async () => new Encoder().writeArray([groupId]).writeBoolean(true) },
    response: answer((decoder) => {
      decoder.readInt32(); // throttle time
      const [group] = decoder.readArray(() => {
        const error = decoder.readInt16();
        for (let field = 0; field < 4; field += 1) decoder.readString(); // group id, state, protocol type, protocol name
        decoder.readArray(skipMember);
        return { error, rights: rightsIn(decoder.readInt32()) };
      });
      if (!group) throw new Error(`No answer about the group ${groupId}`);
      return group;
    }),
  };
}

function skipMember(decoder: Decoder): void {
  for (let field = 0; field < 3; field += 1) decoder.readString(); // member id, client id, client host
  decoder.readBytes(); // the member's topics
  decoder.readBytes(); // the member's partitions
}

/** The lowest 32-bit integer means a response without rights. */
function rightsIn(bits: number): ReadonlySet<KafkaRight> {
  const told = bits === -(2 ** 31) ? 0 : bits;
  return new Set(
    (Object.keys(operations) as KafkaRight[]).filter((right) => Math.floor(told / 2 ** operations[right]) % 2 === 1),
  );
}

const require = createRequire(import.meta.url);
const Encoder: new () => Encoder = require('kafkajs/src/protocol/encoder');
const Decoder: new (data: Buffer) => Decoder = require('kafkajs/src/protocol/decoder');

function answer<T>(read: (decoder: Decoder) => T): ProtocolRequest<T>['response'] {
  return {
    decode: async (data) => ({ read: read(new Decoder(data)), clientSideThrottleTime: 0 }),
    parse: async ({ read }) => read,
  };
}

/** The part of a kafkajs cluster that this module uses. */
function clusterOf(client: Kafka): Cluster {
  const symbols = Object.getOwnPropertySymbols(client);
  const name = symbols.find(({ description }) => description === 'private:Kafka:createCluster');
  const create = name && (client as unknown as Record<symbol, (options: object) => Cluster>)[name];
  if (!create) throw new Error('This kafkajs is another version than 2.2.4');
  return create({});
}

interface Cluster {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  brokerPool: { findConnectedBroker(): Promise<Broker> };
  findGroupCoordinator(group: { groupId: string }): Promise<Broker>;
}

interface Broker {
  versions: Record<number, { maxVersion: number } | undefined>;
  connectionPool: { send<T>(request: ProtocolRequest<T>): Promise<T> };
  findGroupCoordinator(group: { groupId: string }): Promise<unknown>;
}

interface ProtocolRequest<T> {
  request: { apiKey: number; apiVersion: number; apiName: string; encode: () => Promise<Encoder> };
  response: {
    decode: (data: Buffer) => Promise<{ read: T; clientSideThrottleTime: number }>;
    parse: (decoded: { read: T }) => Promise<T>;
  };
}

interface Encoder {
  writeArray(texts: string[]): this;
  writeBoolean(value: boolean): this;
}

interface Decoder {
  readInt16(): number;
  readInt32(): number;
  readBoolean(): boolean;
  readString(): string;
  readBytes(): Buffer;
  readArray<T>(read: (decoder: Decoder) => T): T[];
}
