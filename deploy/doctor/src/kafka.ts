import { type KafkaConnection, kafkaClient } from '@parley/events/kafka-client';
import { kafkaRights, noCoordinator } from '@parley/events/kafka-rights';
import { describeTopics, type TopicState } from '@parley/events/kafka-topics';
import type { TopicDeclaration } from '@parley/events/topics';
import { eventSettings } from '@parley/kernel/settings/shared-settings';
import { within } from '@parley/kernel/timing/timers';
import { usesEvents } from '@parley/service/declaration';
import { connectionProblem, hostAndPort, reach, reasonOf, withCauses } from './connection-problem.ts';
import { type Installation, usable } from './installation.ts';
import { type KafkaNeeds, kafkaNeeds, rightsOutcomes, topicsWith } from './kafka-needs.ts';
import { topicSettingsOutcomes } from './kafka-topic-settings.ts';
import { type Outcome, ok, warning, wrong } from './outcome.ts';

const { brokers: named, tls, login } = eventSettings.kafka;
const settings = [named.name];
const loginNames = Object.values(login.settings).map(({ name }) => name);
const retries = 5;

/** Connects to the brokers, compares the units' topics with their declarations, and checks the units' rights. */
export async function checkKafka(installation: Installation): Promise<Outcome[]> {
  const { env, units, allUnits, patienceMs } = installation;
  const read = units.some(usesEvents) ? usable(env, { named, tls, login }) : undefined;
  if (read?.named === undefined) return [];
  const { named: brokers, ...connection } = read;
  const tried = await Promise.all(
    brokers.map(async (broker) => ({ broker, failure: await failureOf(broker, patienceMs) })),
  );
  const unreached = tried.flatMap(({ broker, failure }) => (failure ? [brokerOutcome(broker, failure)] : []));
  if (unreached.length === brokers.length) return unreached.map((each) => ({ ...each, level: 'wrong' }));

  const reachable = tried.flatMap(({ broker, failure }) => (failure ? [] : [broker]));
  const reached = { brokers: reachable, ...connection };
  const admin = kafkaClient(reached, { retries }).admin();
  try {
    const asked = clusterOutcomes(admin, reached, kafkaNeeds(units, allUnits), patienceMs);
    return [...unreached, ...clearOutcomes(connection), ...(await within(4 * patienceMs, 'Asking Kafka', asked))];
  } catch (error) {
    return [...unreached, clusterFailure(error, reachable, connection)];
  } finally {
    await admin.disconnect().catch(() => undefined);
  }
}

async function failureOf(broker: string, patienceMs: number): Promise<unknown> {
  const { host, port } = hostAndPort(`kafka://${broker}`);
  return reach(host, port, patienceMs).then(
    () => undefined,
    (error: unknown) => error,
  );
}

function brokerOutcome(broker: string, error: unknown): Outcome {
  const problem = connectionProblem(error, broker);
  if (problem) return warning(`kafka.${problem.kind}`, settings, problem.found, problem.change);
  return warning('kafka.unreachable', settings, `${broker} cannot be reached: ${reasonOf(error)}`, 'Correct it.');
}

type Reached = Pick<KafkaConnection, 'tls' | 'login'>;
type Admin = ReturnType<ReturnType<typeof kafkaClient>['admin']>;

async function clusterOutcomes(
  admin: Admin,
  connection: KafkaConnection,
  needs: KafkaNeeds,
  patienceMs: number,
): Promise<Outcome[]> {
  await admin.connect();
  const { brokers } = await admin.describeCluster();
  const addresses = brokers.map(({ host, port }) => `${host}:${port}`);
  const failures = await Promise.all(addresses.map((address) => failureOf(address, patienceMs)));
  const advertised = addresses.filter((_, n) => failures[n]);
  if (advertised.length > 0) return [advertisedOutcome(advertised)];
  const rights = await kafkaRights(connection, {
    topics: needs.topics.map(({ name }) => name),
    groups: needs.rights.flatMap(({ on, name }) => (on === 'group' ? [name] : [])),
  });
  // A topic that the login may not describe looks like a missing topic.
  const seen = topicsWith('Describe', rights, needs.topics);
  const states = await describeTopics(admin, seen, topicsWith('DescribeConfigs', rights, seen));
  return [
    ok('kafka.reachable', settings, `${addresses.join(', ')} answer`),
    ...rightsOutcomes(rights, needs),
    ...missingOutcomes(seen, states),
    ...seen.flatMap((topic) => topicOutcomes(topic, states.get(topic.name))),
  ];
}

function missingOutcomes(wanted: TopicDeclaration[], states: Map<string, TopicState>): Outcome[] {
  const missing = wanted.map(({ name }) => name).filter((name) => !states.has(name));
  if (wanted.length === 0) return [];
  if (missing.length === 0) return [ok('kafka.topics', settings, `${wanted.length} topics are there`)];
  const change = 'Run `scripts/topics`, which the Helm chart does by itself when it is installed.';
  return [wrong('kafka.topics', settings, `topics are missing: ${missing.join(', ')}`, change)];
}

function topicOutcomes(topic: TopicDeclaration, state: TopicState | undefined): Outcome[] {
  if (!state) return [];
  const { name, partitions } = topic;
  const outcomes: Outcome[] = [];
  if (state.partitions < partitions) {
    const found = `${name} has ${state.partitions} partitions, and ${partitions} are declared`;
    const change =
      'Add partitions while the topic is drained: keys move between them. Fewer replicas share the work till then.';
    outcomes.push(warning('kafka.partitions', settings, found, change));
  }
  outcomes.push(...topicSettingsOutcomes(topic, state));
  if (state.minInSync !== undefined && state.inSync < state.minInSync) {
    const found = `${name} has a partition with ${state.inSync} of ${state.replicas} replicas in sync, and min.insync.replicas is ${state.minInSync}`;
    const change =
      'Start the brokers that are down, or lower min.insync.replicas below the replicas: nothing can be published till then.';
    outcomes.push(warning('kafka.replicas', settings, found, change));
  }
  return outcomes;
}

function clearOutcomes({ tls: isEncrypted, login: given }: Reached): Outcome[] {
  if (isEncrypted || given?.mechanism !== 'plain') return [];
  const found = 'the password of Kafka crosses the network in clear';
  const change = `Set ${tls.name}, with a listener that speaks TLS, or a mechanism of SCRAM.`;
  return [warning('kafka.clear', [tls.name, login.name], found, change)];
}

function clusterFailure(error: unknown, brokers: string[], connection: Reached): Outcome {
  const { tls: isEncrypted = false, login: hasLogin } = connection;
  const unreached = withCauses(error).flatMap((each) => ('broker' in each ? [String(each.broker)] : []));
  const [advertised] = unreached.filter((address) => !brokers.includes(address));
  if (advertised) return advertisedOutcome([advertised]);
  const at = brokers.join(', ');
  if (withCauses(error).some(({ name }) => name === 'KafkaJSSASLAuthenticationError')) {
    const change = `Correct ${loginNames.join(', ')}, or give that login a password by kafka-configs.`;
    return wrong('kafka.password', [...settings, ...loginNames], `${at} refuses the login: ${reasonOf(error)}`, change);
  }
  if (withCauses(error).some(({ name }) => name === noCoordinator)) {
    const found = 'no broker coordinates the groups of consumers, so no unit receives events';
    const change = 'See the logs of the brokers: offsets.topic.replication.factor may be more than there are brokers.';
    return wrong('kafka.groups', settings, found, change);
  }
  const problem = connectionProblem(error, at);
  if (problem?.kind === 'tls') return wrong('kafka.tls', [...settings, tls.name], problem.found, problem.change);
  const how = `${isEncrypted ? 'with' : 'without'} TLS and ${hasLogin ? 'with' : 'without'} login`;
  const found = `no Kafka ${how} answers at ${at}: ${reasonOf(error)}`;
  const change = `Set ${tls.name} and ${login.name} as the listener in ${named.name} is, or name another one.`;
  return wrong('kafka.protocol', settings, found, change);
}

function advertisedOutcome(addresses: string[]): Outcome {
  const found = `brokers tell clients to use ${addresses.join(', ')}, which cannot be reached from here`;
  const change = "Set the brokers' advertised.listeners to addresses that the units reach, or open these to them.";
  return wrong('kafka.advertised', settings, found, change);
}
