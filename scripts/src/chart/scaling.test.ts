import { unitNames } from '@parley/units';
import { testWith } from '../testing/test-with.ts';
import { ofKind, requiredValues, unitOf } from './environment.ts';
import { helm, render } from './render.ts';

const chartTest = await testWith(helm);

chartTest('Kafka consumers are scaled by their groups and topics, turns and jobs by metrics', async (t) => {
  const keda = {
    lagPerReplica: 51,
    turnsPerReplica: 61,
    jobsPerReplica: { evaluation: 16, export: 4, knowledge: 8, parser: 4 },
  };
  const set = Object.fromEntries(Object.entries(keda).map(([name, value]) => [`keda.${name}`, value]));
  const manifests = await render('production', { ...set, 'defaults.autoscaling.targetCPUUtilizationPercentage': 71 });
  const scaled = ofKind(manifests, 'ScaledObject').flatMap((each) =>
    each.spec.triggers.map(({ type, metadata }) => {
      const { topic, consumerGroup, query, value, lagThreshold, threshold } = metadata;
      const by = [consumerGroup, topic, query].filter(Boolean).join(' of ');
      return `${unitOf(each)} by ${by || type}: ${value ?? lagThreshold ?? threshold}`;
    }),
  );
  const running = 'sum(parley_session_turns_running{namespace="parley"})';
  const jobsOf = (unit: string) => `sum(max by (kind, state) (parley_jobs{namespace="parley",unit="${unit}"}))`;
  t.deepEqual(scaled.toSorted(), [
    'action by action.tenant-deleted of tenant-deleted: 51',
    'action by cpu: 71',
    'agent by cpu: 71',
    `agent by ${running}: 61`,
    'evaluation by cpu: 71',
    'evaluation by evaluation.session-ended of session-ended: 51',
    `evaluation by ${jobsOf('evaluation')}: 16`,
    'export by cpu: 71',
    'export by export.tenant-deleted of tenant-deleted: 51',
    `export by ${jobsOf('export')}: 4`,
    'knowledge by cpu: 71',
    `knowledge by ${jobsOf('knowledge')}: 8`,
    'parser by cpu: 71',
    'parser by parser.document-uploaded of document-uploaded: 51',
    `parser by ${jobsOf('parser')}: 4`,
    'session by cpu: 71',
    'session by session.evaluation-completed of evaluation-completed: 51',
    'session by session.tenant-deleted of tenant-deleted: 51',
    `session by ${running}: 61`,
  ]);
});

chartTest('without KEDA, units are scaled by the used share of their requested CPU', async (t) => {
  const values = { autoscaling: { enabled: true, maxReplicas: 9, targetCPUUtilizationPercentage: 71 } };
  const scalers = ofKind(
    await render('small', { defaults: values, 'units.agent.replicas': 4 }),
    'HorizontalPodAutoscaler',
  );
  t.is(scalers.length, unitNames.length);
  for (const scaler of scalers) {
    const unit = unitOf(scaler);
    const target = { type: 'Utilization', averageUtilization: 71 };
    t.like(scaler.spec, {
      scaleTargetRef: { kind: 'Deployment', name: `parley-${unit}` },
      minReplicas: unit === 'agent' ? 4 : 2,
      metrics: [{ type: 'Resource', resource: { name: 'cpu', target } }],
    });
  }
});

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

chartTest('KEDA authenticates at Prometheus only if both values are set', async (t) => {
  const prometheusOf = async (authentication: object) => {
    const set = Object.entries(authentication).map(([name, value]) => [`keda.prometheusAuthentication.${name}`, value]);
    const manifests = await render('production', Object.fromEntries(set));
    const triggers = ofKind(manifests, 'ScaledObject').flatMap(({ spec }) => spec.triggers);
    return triggers.filter(({ type }) => type === 'prometheus');
  };
  const usual = await prometheusOf({});
  t.true(usual.length > 0);
  for (const { metadata, authenticationRef } of usual) {
    t.deepEqual([metadata['authModes'], authenticationRef], [undefined, undefined]);
  }
  for (const { metadata, authenticationRef } of await prometheusOf({ modes: 'basic', triggerAuthentication: 'own' })) {
    t.deepEqual([metadata['authModes'], authenticationRef?.name], ['basic', 'own']);
  }
  await t.throwsAsync(prometheusOf({ modes: 'basic' }), { message: /triggerAuthentication is required with modes/u });
  await t.throwsAsync(prometheusOf({ triggerAuthentication: 'own' }), { message: /modes is required/u });
});
