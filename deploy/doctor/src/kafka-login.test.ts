import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { kafkaBusOf } from '@parley/events/kafka-settings';
import { makeTopics } from '@parley/events/kafka-topics';
import { readSettings } from '@parley/kernel/settings/config';
import { eventSettings } from '@parley/kernel/settings/shared-settings';
import { createLogger } from '@parley/kernel/telemetry/log';
import { freePorts } from '@parley/servers/ports';
import { startServers } from '@parley/servers/start-servers';
import { serverTest } from '@parley/servers/testing/server-test';
import { eventually } from '@parley/testing/eventually';
import { type TestCertificate, testAuthority } from '@parley/testing/test-authority';
import { units } from '@parley/units';
import { checkKafka } from './kafka.ts';

const password = 'correct-horse';

/** Returns the settings of a listener with TLS and logins, in addition to the default listener of `scripts/servers`. */
function secureListener(
  port: number,
  plainPort: number,
  controllerPort: number,
  { key, cert }: TestCertificate,
): string {
  const onOneLine = (pem: string) => pem.trim().replaceAll('\n', '\\n');
  const secure = 'listener.name.secure';
  return `
listeners=PLAINTEXT://127.0.0.1:${plainPort},SECURE://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}
advertised.listeners=PLAINTEXT://127.0.0.1:${plainPort},SECURE://localhost:${port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SECURE:SASL_SSL,CONTROLLER:PLAINTEXT
${secure}.sasl.enabled.mechanisms=PLAIN
${secure}.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_parley="${password}";
${secure}.ssl.keystore.type=PEM
${secure}.ssl.keystore.key=${onOneLine(key)}
${secure}.ssl.keystore.certificate.chain=${onOneLine(cert)}
`;
}

serverTest(
  ['kafka'],
  'events go through a listener of Kafka that asks for TLS and a login, and the doctor finds a wrong one',
  async (t) => {
    const authority = testAuthority();
    // Trusts the test's authority, as NODE_EXTRA_CA_CERTS would.
    setDefaultCACertificates([...getCACertificates('default'), authority.cert]);
    const servers = await startServers({ only: ['kafka'] });
    t.teardown(() => servers.stop());
    const kafka = servers.server('kafka');
    const { home, ports } = kafka.place;
    const [port = 0] = await freePorts(1);
    await kafka.stop();
    const listener = secureListener(port, ports.main, ports.second, authority.issue(['localhost']));
    writeFileSync(join(home, 'own.properties'), listener);
    await kafka.start();

    const env = {
      KAFKA_BROKERS: `localhost:${port}`,
      KAFKA_TLS: 'true',
      KAFKA_SASL_MECHANISM: 'PLAIN',
      KAFKA_USERNAME: 'parley',
      KAFKA_PASSWORD: password,
    };
    const { brokers = [], ...connection } = readSettings(env, eventSettings).kafka;
    const topic = `test-${randomUUID()}`;
    await makeTopics([{ name: topic, partitions: 1, retentionMs: 3_600_000 }], { brokers, ...connection });
    const bus = kafkaBusOf({ brokers, ...connection }, createLogger('test'));
    t.teardown(() => bus?.close());
    const received: string[] = [];
    await bus?.subscribe({ group: 'a', topics: [topic], handler: async ({ id }) => void received.push(id) });
    const event = { topic, key: 'a', type: 'test.happened.v1', source: 'test', tenantId: 1, time: new Date(0) };
    await bus?.publish([{ ...event, id: 'one', data: new Uint8Array() }]);
    await eventually('it has arrived', () => received.length > 0, { timeoutMs: 30_000 });
    t.deepEqual(received, ['one']);

    const checksOf = async (change: object) => {
      const installation = { env: { ...env, ...change }, units, allUnits: units, now: Date.now, patienceMs: 20_000 };
      return (await checkKafka(installation)).map(({ check }) => check);
    };
    t.true((await checksOf({})).includes('kafka.reachable'));
    t.deepEqual(await checksOf({ KAFKA_PASSWORD: 'wrong' }), ['kafka.password']);
    t.deepEqual(await checksOf({ KAFKA_TLS: 'false', KAFKA_SASL_MECHANISM: 'scram-sha-256' }), ['kafka.protocol']);
  },
);
