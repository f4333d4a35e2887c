import { testWith } from '../testing/test-with.ts';
import { ofKind, requiredValues, unitOf } from './environment.ts';
import { helm, render } from './render.ts';

const chartTest = await testWith(helm);

chartTest(
  'Kafka consumers are scaled by the groups and topics that they have, turns and jobs by metrics',
  async (t) => {
    const scaled = ofKind(await render('production'), 'ScaledObject').map((each) => {
      const triggers = each.spec.triggers.map(({ metadata }) => metadata.consumerGroup ?? metadata.query ?? 'cpu');
      return [unitOf(each), ...triggers].join(' ');
    });
    const running = 'sum(parley_session_turns_running{namespace="parley"})';
    const jobsOf = (unit: string) => `sum(max by (kind, state) (parley_jobs{namespace="parley",unit="${unit}"}))`;
    t.deepEqual(scaled.toSorted(), [
      `agent cpu ${running}`,
      `evaluation cpu evaluation.session-ended ${jobsOf('evaluation')}`,
      `knowledge cpu ${jobsOf('knowledge')}`,
      `parser cpu parser.document-uploaded ${jobsOf('parser')}`,
      `session cpu session.tenant-deleted ${running}`,
    ]);
  },
);

chartTest('KEDA reaches Kafka as the units do: by TLS, their authorities and their login', async (t) => {
  const kafkaOf = async (set: object) => {
    const manifests = await render('production', set);
    const [trigger] = ofKind(manifests, 'ScaledObject').flatMap((each) =>
      unitOf(each) === 'parser' ? each.spec.triggers.filter(({ type }) => type === 'kafka') : [],
    );
    const name = trigger?.authenticationRef?.name;
    const authentication = ofKind(manifests, 'TriggerAuthentication').find(({ metadata }) => metadata.name === name);
    return { trigger: trigger?.metadata ?? {}, authentication: authentication?.spec };
  };
  const username = { parameter: 'username', name: 'KAFKA_USERNAME' };
  const password = { parameter: 'password', name: 'parley', key: 'KAFKA_PASSWORD' };

  const usual = await kafkaOf({});
  t.like(usual.trigger, { tls: 'enable', sasl: 'scram_sha512', offsetResetPolicy: 'earliest' });
  t.like(usual.authentication, {
    env: [username],
    secretTargetRef: [password],
    configMapTargetRef: [{ parameter: 'ca', name: 'company-authorities', key: 'ca.crt' }],
  });

  const own = { KAFKA_BROKERS: 'own:9093', KAFKA_SASL_MECHANISM: 'plain' };
  const fromSecret = await kafkaOf({ 'units.parser.env': own, 'tls.authorities': { secret: 'ca' } });
  t.like(fromSecret.trigger, { bootstrapServers: 'own:9093', sasl: 'plaintext' });
  t.like(fromSecret.authentication, {
    configMapTargetRef: undefined,
    secretTargetRef: [password, { parameter: 'ca', name: 'ca', key: 'ca.crt' }],
  });

  const plain = await kafkaOf({ config: { ...requiredValues.config, TRUSTED_PROXIES: '10.30.0.0/16' } });
  t.like(plain, { trigger: { tls: undefined, sasl: undefined }, authentication: undefined });
});
