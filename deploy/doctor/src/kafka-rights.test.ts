import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { deadLetterTopic } from '@parley/events/event-bus';
import { kafkaClient } from '@parley/events/kafka-client';
import { kafkaDeadLetters } from '@parley/events/kafka-dead-letters';
import { kafkaEventBus } from '@parley/events/kafka-event-bus';
import { makeTopics } from '@parley/events/kafka-topics';
import { usualRetentionMs } from '@parley/events/topics';
import { freePorts } from '@parley/servers/ports';
import { startServers } from '@parley/servers/start-servers';
import { serverTest } from '@parley/servers/testing/server-test';
import { eventually } from '@parley/testing/eventually';
import { testAuthority } from '@parley/testing/test-authority';
import { topics, units } from '@parley/units';
import test, { type ExecutionContext } from 'ava';
import kafkajs, { type AclEntry } from 'kafkajs';
import { checkKafka } from './kafka.ts';
import { kafkaNeeds } from './kafka-needs.ts';

const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs;
const authority = testAuthority();
setDefaultCACertificates([...getCACertificates('default'), authority.cert]); // trusts the test's authority, as NODE_EXTRA_CA_CERTS would
const login = { username: 'narrow', password: 'correct-horse' };

type Granted = [right: keyof typeof AclOperationTypes, on: 'TOPIC' | 'GROUP', name: string];

/** Returns an ACL entry for one resource, or, if the name ends with `*`, for all resources with that prefix. */
function entry([right, on, name]: Granted): AclEntry {
  return {
    principal: `User:${login.username}`,
    host: '*',
    operation: AclOperationTypes[right],
    permissionType: AclPermissionTypes.ALLOW,
    resourceType: AclResourceTypes[on],
    resourcePatternType: name.endsWith('*') ? ResourcePatternTypes.PREFIXED : ResourcePatternTypes.LITERAL,
    resourceName: name.replace('*', ''),
  };
}

const everyAcl = {
  resourceType: AclResourceTypes.ANY,
  resourcePatternType: ResourcePatternTypes.ANY,
  operation: AclOperationTypes.ANY,
  permissionType: AclPermissionTypes.ANY,
};

/** Starts a Kafka with two listeners: the login of one has only the rights that ACLs grant, clients of the other have all rights. */
async function guardedKafka(t: ExecutionContext, more = '') {
  const { key, cert } = authority.issue(['localhost']);
  const onOneLine = (pem: string) => pem.trim().replaceAll('\n', '\\n');
  const servers = await startServers({ only: ['kafka'] });
  t.teardown(() => servers.stop());
  const kafka = servers.server('kafka');
  const { home, ports } = kafka.place;
  const [port = 0] = await freePorts(1);
  await kafka.stop();
  const own = `
listeners=PLAINTEXT://127.0.0.1:${ports.main},LOGIN://127.0.0.1:${port},CONTROLLER://127.0.0.1:${ports.second}
advertised.listeners=PLAINTEXT://127.0.0.1:${ports.main},LOGIN://localhost:${port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,LOGIN:SASL_SSL,CONTROLLER:PLAINTEXT
listener.name.login.sasl.enabled.mechanisms=PLAIN
listener.name.login.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_${login.username}="${login.password}";
listener.name.login.ssl.keystore.type=PEM
listener.name.login.ssl.keystore.key=${onOneLine(key)}
listener.name.login.ssl.keystore.certificate.chain=${onOneLine(cert)}
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
${more}`;
  writeFileSync(join(home, 'own.properties'), own);
  await kafka.start();
  const brokers = [`127.0.0.1:${ports.main}`];
  const admin = kafkaClient({ brokers }, { retries: 5 }).admin();
  await admin.connect();
  t.teardown(() => admin.disconnect());
  let granted = 0;
  /** Adds ACLs. Resolves once the broker enforces them, which happens after the controller has stored them. */
  const grant = async (...more: Granted[]) => {
    await admin.createAcls({ acl: more.map(entry) });
    granted += more.length;
    await eventually('ACLs are in force', async () => {
      const { resources } = await admin.describeAcls(everyAcl);
      return resources.flatMap(({ acls }) => acls).length === granted;
    });
  };
  const env = {
    KAFKA_BROKERS: `localhost:${port}`,
    KAFKA_TLS: 'true',
    KAFKA_SASL_MECHANISM: 'plain',
    KAFKA_USERNAME: login.username,
    KAFKA_PASSWORD: login.password,
  };
  return { brokers, env, admin, grant };
}

serverTest(['kafka'], 'the doctor names the rights that units lack in Kafka, and no topic as missing', async (t) => {
  const { brokers, env, grant, admin } = await guardedKafka(t);
  await makeTopics(topics, { brokers });
  /** Returns the findings about these units, as `check: found`. */
  const findings = async (...names: string[]) => {
    const checked = units.filter(({ name }) => names.includes(name));
    const outcomes = await checkKafka({ env, units: checked, allUnits: units, now: Date.now, patienceMs: 20_000 });
    return outcomes
      .filter(({ check, level }) => level !== 'ok' && check !== 'kafka.clear')
      .map(({ check, found }) => `${check}: ${found}`);
  };

  t.deepEqual(await findings('session', 'evaluation'), [
    'kafka.rights: evaluation lacks Write on topic evaluation-completed, Read on topic session-ended, Read on group evaluation.session-ended, Write on topic session-ended.dead-letter',
    'kafka.rights: session lacks Write on topic session-ended, Read on topic tenant-deleted, Read on group session.tenant-deleted, Write on topic tenant-deleted.dead-letter, Read on topic evaluation-completed, Read on group session.evaluation-completed, Write on topic evaluation-completed.dead-letter',
  ]);

  await grant(
    ['WRITE', 'TOPIC', 'evaluation-completed'],
    ['READ', 'TOPIC', 'session-ended'],
    ['DESCRIBE', 'GROUP', 'evaluation.session-ended'],
    ['WRITE', 'TOPIC', 'session-ended.dead-letter'],
  );
  t.deepEqual(await findings('evaluation'), [
    'kafka.rights: evaluation lacks Read on group evaluation.session-ended',
    'kafka.settings: the settings of topics are not known, for lack of DescribeConfigs on evaluation-completed, session-ended, session-ended.dead-letter',
  ]);

  await grant(
    ['READ', 'GROUP', 'evaluation.session-ended'],
    ['DESCRIBE_CONFIGS', 'TOPIC', 'evaluation-completed'],
    ['DESCRIBE_CONFIGS', 'TOPIC', 'session-ended'],
    ['DESCRIBE_CONFIGS', 'TOPIC', 'session-ended.dead-letter'],
  );
  t.deepEqual(await findings('evaluation'), []);

  await admin.deleteTopics({ topics: ['session-ended'] });
  t.deepEqual(await findings('evaluation'), ['kafka.topics: topics are missing: session-ended']);
});

serverTest(['kafka'], 'the doctor finds a Kafka of which no broker coordinates groups', async (t) => {
  const { brokers } = await guardedKafka(t, 'offsets.topic.replication.factor=3');
  const env = { KAFKA_BROKERS: brokers.join() };
  const outcomes = await checkKafka({ env, units, allUnits: units, now: Date.now, patienceMs: 20_000 });
  t.deepEqual(
    outcomes.map(({ check }) => check),
    ['kafka.groups'],
  );
});

serverTest(['kafka'], 'the rights of the documentation suffice for a unit, and for the commands', async (t) => {
  const { env, grant } = await guardedKafka(t);
  const topic = { name: 'garden', partitions: 1, retentionMs: usualRetentionMs };
  const kafka = { brokers: [env.KAFKA_BROKERS], tls: true, login: { mechanism: 'plain' as const, ...login } };
  await t.throwsAsync(makeTopics([topic], kafka), { message: /garden: .*authori[sz]/iu });
  await grant(
    ...(['CREATE', 'DESCRIBE', 'ALTER_CONFIGS'] as const).flatMap((right): Granted[] => [
      [right, 'TOPIC', topic.name],
      [right, 'TOPIC', deadLetterTopic(topic.name)],
    ]),
  );
  await makeTopics([topic], kafka);
  const changed = await makeTopics([{ ...topic, retentionMs: 60_000 }], kafka);
  t.deepEqual(
    changed.map(({ change }) => change),
    ['retention changed', 'is there'],
  );

  await grant(
    ['WRITE', 'TOPIC', topic.name],
    ['READ', 'TOPIC', topic.name],
    ['READ', 'GROUP', `gardener.${topic.name}`],
    ['WRITE', 'TOPIC', deadLetterTopic(topic.name)],
  );
  const bus = kafkaEventBus({ ...kafka, backoffMs: () => 1 });
  t.teardown(() => bus.close());
  const handler = () => Promise.reject(new Error('it rains'));
  await bus.subscribe({ group: 'gardener', topics: [topic.name], handler });
  const event = { id: 'one', topic: topic.name, key: 'a', type: 'garden.grown.v1', source: 'garden', tenantId: 1 };
  await bus.publish([{ ...event, time: new Date(0), data: new Uint8Array([1]) }]);

  await grant(['READ', 'TOPIC', deadLetterTopic(topic.name)], ['READ', 'GROUP', 'dead-letters.*']);
  await grant(['DELETE', 'GROUP', 'dead-letters.*']);
  const letters = kafkaDeadLetters(kafka);
  t.teardown(() => letters.close());
  const [letter] = await eventually('it is given up', async () => {
    const found = await letters.list(topic.name);
    return found.length > 0 && found;
  });
  t.is(letter?.event?.id, 'one');
  if (letter) await letters.replay(topic.name, letter);
  t.true((await letters.list(topic.name)).some(({ wasReplayed }) => wasReplayed));
});

test('the documentation has the rights of each unit', (t) => {
  const page = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
  const [before = ''] = page.split('\nCommands need these:');
  const list = before.slice(before.lastIndexOf('\n\n- **identity**'));
  const documented = list.split('\n- **').flatMap((item) => {
    const [unit = '', ...rights] = item.split(/(?:\*\*)?\n {2}- /u);
    return rights.flatMap((line) => {
      const [right = '', names = ''] = line.trim().split(':');
      const what = { 'write on topics': 'Write topic', 'read on topics': 'Read topic', 'read on groups': 'Read group' }[
        right
      ];
      return [...names.matchAll(/`(.+?)`/gu)].map(([, name]) => `${unit} ${what} ${name}`);
    });
  });
  const needed = kafkaNeeds(units, units).rights.map(({ unit, right, on, name }) => `${unit} ${right} ${on} ${name}`);
  t.deepEqual(documented.toSorted(), needed.toSorted());
});
