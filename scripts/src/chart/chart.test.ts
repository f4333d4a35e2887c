import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { longestStopMs } from '@parley/kernel/processes/run';
import { readSettings } from '@parley/kernel/settings/config';
import { statementTimeoutMs } from '@parley/postgres/database/migrate';
import { addressSettings, type UsedEndpoint } from '@parley/unit/address-settings';
import { unitNames, units } from '@parley/units';
import { settingsOfUnit } from '@parley/units/settings';
import test from 'ava';
import { ofMigrations, setByChart } from '../generate/chart-units.ts';
import { testWith } from '../testing/test-with.ts';
import {
  containerOf,
  environmentOf,
  isHook,
  ofKind,
  requiredValues as required,
  sampleSecret,
  unitOf,
} from './environment.ts';
import { chart, helm, type Manifest, render, runHelm, type Spec } from './render.ts';

const endpointOf: Record<string, UsedEndpoint['endpoint']> = { RPC: 'rpc', GRAPH: 'graph', HTTP: 'public' };

const chartTest = await testWith(helm);

const installations: [string | undefined, object][] = [
  [undefined, required],
  ['small', {}],
  ['production', {}],
];
/** Maximum start time of a process while all other processes start on the same few processors. */
const slowestStartSeconds = 300;
const drainSeconds = longestStopMs / 1_000;
/** How long CoreDNS caches responses in most clusters. */
const dnsSeconds = 30;
const encrypted = { 'tls.authorities.configMap': 'company-ca', 'tls.mesh.secret': 'parley-mesh' };

chartTest('the chart passes strict linting with each example', async (t) => {
  for (const example of ['small', 'production']) {
    const said = await runHelm('lint', '--strict', chart, '--values', join(chart, `examples/${example}.yaml`));
    t.regex(said, /1 chart\(s\) linted, 0 chart\(s\) failed/);
  }
});

chartTest('the manifests have all units and no others', async (t) => {
  const names = unitNames.toSorted();
  const manifests = await render('small');
  for (const kind of ['Deployment', 'ConfigMap', 'ServiceAccount', 'PodDisruptionBudget', 'NetworkPolicy']) {
    const rendered = ofKind(manifests, kind).filter((each) => !isHook(each));
    t.deepEqual(rendered.map(unitOf).toSorted(), names, kind);
  }
});

for (const [example, set] of installations) {
  const title = example ?? 'only what is required';

  chartTest(`each process is probed, limited, spread and drained, in more than one copy: ${title}`, async (t) => {
    const manifests = await render(example, set);
    for (const deployment of ofKind(manifests, 'Deployment')) {
      const unit = unitOf(deployment);
      const { spec } = deployment.spec.template;
      const [container] = spec.containers;
      t.deepEqual(container.startupProbe.httpGet, { path: '/healthz', port: 'ops' }, unit);
      const { periodSeconds, failureThreshold } = container.startupProbe;
      t.true(periodSeconds * failureThreshold >= slowestStartSeconds, unit);
      t.deepEqual(container.readinessProbe.httpGet, { path: '/readyz', port: 'ops' }, unit);
      t.deepEqual(container.livenessProbe.httpGet, { path: '/healthz', port: 'ops' }, unit);
      t.truthy(container.resources.limits.memory && container.resources.requests.memory, unit);
      t.truthy(container.resources.requests.cpu, unit);
      const preStopSeconds = Number(container.lifecycle.preStop.exec.command[1]);
      t.true(spec.terminationGracePeriodSeconds > drainSeconds + preStopSeconds, unit);
      t.true(preStopSeconds > dnsSeconds, `${unit}: a drain knows no minReadySeconds`);
      t.true((deployment.spec.minReadySeconds ?? 0) > dnsSeconds, unit);
      // If a node lacks the topology key of one constraint, the scheduler ignores all constraints for that node. Many clusters have no
      // zones.
      t.deepEqual(
        spec.topologySpreadConstraints.map(({ topologyKey }) => topologyKey),
        ['kubernetes.io/hostname'],
        unit,
      );
      const [apart] = spec.affinity?.podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
      t.is(apart?.podAffinityTerm.topologyKey, 'topology.kubernetes.io/zone', unit);
      t.deepEqual(apart?.podAffinityTerm.labelSelector, deployment.spec.selector, unit);
      const scaler = [...ofKind(manifests, 'HorizontalPodAutoscaler'), ...ofKind(manifests, 'ScaledObject')].find(
        (each) => each.spec.scaleTargetRef.name === deployment.metadata.name,
      )?.spec;
      t.true(Number(deployment.spec.replicas ?? scaler?.minReplicas ?? scaler?.minReplicaCount) > 1, unit);
      t.not(deployment.spec.replicas === undefined, scaler === undefined, `${unit}: one of both sets the number`);
      const budget = ofKind(manifests, 'PodDisruptionBudget').find((each) => unitOf(each) === unit);
      t.deepEqual(budget?.spec.selector, deployment.spec.selector, unit);
    }
  });

  chartTest(`no process has privileges, tokens or an image with a moving tag: ${title}`, async (t) => {
    const manifests = await render(example, set);
    const pods = [
      ...[...ofKind(manifests, 'Deployment'), ...ofKind(manifests, 'Job')].map(({ metadata, spec }) => ({
        metadata,
        pod: spec.template.spec,
      })),
      ...ofKind(manifests, 'Pod').map(({ metadata, spec }) => ({ metadata, pod: spec })),
    ];
    t.is(pods.length, units.length + 3);
    for (const { metadata, pod } of pods) {
      const [container] = pod.containers;
      t.false(pod.enableServiceLinks, metadata.name);
      t.false(pod.automountServiceAccountToken, metadata.name);
      t.true(pod.securityContext.runAsNonRoot, metadata.name);
      t.is(pod.securityContext.seccompProfile.type, 'RuntimeDefault', metadata.name);
      t.true(container.securityContext.readOnlyRootFilesystem, metadata.name);
      t.false(container.securityContext.allowPrivilegeEscalation, metadata.name);
      t.deepEqual(container.securityContext.capabilities, { drop: ['ALL'] }, metadata.name);
      t.regex(container.image, /\/[a-z]+:(?!latest$)[\w.-]+$/, metadata.name);
    }
    for (const account of ofKind(manifests, 'ServiceAccount')) t.false(account.automountServiceAccountToken);
  });

  chartTest(`each unit accepts the environment that it gets: ${title}`, async (t) => {
    const manifests = await render(example, set);
    for (const unit of units) {
      const { data, env } = environmentOf(manifests, unit.name);
      const needed = env.filter(({ valueFrom }) => !valueFrom.secretKeyRef.optional).map(({ name }) => name);
      const given = { ...data, ...Object.fromEntries(needed.map((name) => [name, sampleSecret(name)])) };
      t.notThrows(() => unit.readConfig({ ...given, CLOUD_HOSTED_MODELS_KEY: 'sample' }), unit.name);
      const addresses = settingsOfUnit(unit).own.flatMap(({ name }) => {
        const [, used, endpoint] = /^([A-Z]+)_(RPC|GRAPH|HTTP)_URL$/.exec(name) ?? [];
        if (used === undefined) return [];
        return { unit: used.toLowerCase(), endpoint: endpointOf[endpoint ?? ''] ?? 'rpc' };
      });
      t.notThrows(() => readSettings(given, addressSettings(addresses)), unit.name);
    }
  });
}

chartTest('every declared setting reaches its unit from values or the Secret, and no other unit', async (t) => {
  const all = units.flatMap((unit) => Object.values(settingsOfUnit(unit)).flat());
  const given = all.filter(({ name, secret }) => !secret && !setByChart.test(name)).map(({ name }) => [name, 'given']);

  const manifests = await render(undefined, {
    ...required,
    ...encrypted,
    config: { ...Object.fromEntries(given), KAFKA_SASL_MECHANISM: 'scram-sha-256' },
    'networkPolicy.engines.telemetry.to': [{ podSelector: {} }],
  });
  for (const unit of units) {
    const read = Object.values(settingsOfUnit(unit)).flat();
    const { data, secrets } = environmentOf(manifests, unit.name);
    const expected = read.map(({ name }) => name).filter((name) => !ofMigrations.test(name) && name !== 'LOG_FILE');
    const alsoSet = ['PARLEY_DATA_DIR'];
    t.deepEqual(
      [...new Set([...Object.keys(data), ...secrets, ...alsoSet])].toSorted(),
      [...new Set([...expected, ...alsoSet])].toSorted(),
      unit.name,
    );
    const secret = new Set(read.filter((each) => each.secret).map(({ name }) => name));
    t.deepEqual(
      Object.keys(data).filter((name) => secret.has(name)),
      [],
      unit.name,
    );
    t.deepEqual(
      secrets.filter((name) => !secret.has(name)),
      [],
      unit.name,
    );
  }
});

chartTest('invalid values are refused with their names', async (t) => {
  const refused: [object, RegExp][] = [
    [{ 'image.tag': 'latest' }, /image.*tag/],
    [{ 'image.repository': '' }, /image\.repository is required/],
    [{ existingSecret: '' }, /existingSecret is required/],
    [{ publicUrl: '' }, /publicUrl is required/],
    [{ 'config.MESH_KEY': 'secret' }, /config\.MESH_KEY: is a secret/],
    [{ 'config.OTEL_EXPORTER_OTLP_HEADERS': 'authorization=secret' }, /config\.OTEL_\w+_HEADERS: is a secret/],
    [{ 'units.agent.env.REDIS_URL': 'redis://secret' }, /units\.agent\.env\.REDIS_URL: is a secret/],
    [{ 'config.OTEL_EXPORTER_OTLP_METRICS_HEADERS': 'a=secret' }, /config\.OTEL_\w+_METRICS_HEADERS: is a secret/],
    [{ 'units.agent.env.OTEL_EXPORTER_OTLP_LOGS_HEADERS': 'a=secret' }, /units\.agent\.env\.OTEL_\w+: is a secret/],
    [
      {
        'config.OTEL_EXPORTER_OTLP_ENDPOINT': 'http://user:pass@collector:4318',
        'networkPolicy.engines.telemetry.to': [{ podSelector: {} }],
      },
      /OTLP_ENDPOINT: has a user or a pass/,
    ],
    [{ 'units.identity.env.RESET_URL': 'https://user@example.com' }, /identity\.env\.RESET_URL: has a user/],
    [{ 'config.KAFKA_BROKERS': 'a:9092,user:password@b:9092' }, /config\.KAFKA_BROKERS: has a user or a password/],
    ...['api_key', 'apiKey', 'X-Amz-Signature', 'access_token', 'sig', 'password'].map((name): [object, RegExp] => [
      { 'config.SMS_URL': `https://sms.example.com/send?lang=de&${name}=a` },
      /config\.SMS_URL: has a secret in its query/,
    ]),
    [{ 'config.KAFKA_BROKER': 'typo' }, /config\.KAFKA_BROKER: no unit reads it/],
    [{ 'config.OTEL_SERVICE_NAME': 'own' }, /config\.OTEL_SERVICE_NAME: no unit reads it, or the chart sets it/],
    [{ 'config.GATEWAY_PORT': 80 }, /config\.GATEWAY_PORT: no unit reads it, or the chart sets it/],
    [{ 'defaults.env.KAFKA_BROKER': 'typo' }, /defaults\.env\.KAFKA_BROKER: no unit reads it/],
    [{ 'units.agent.env.PARSER_CONCURRENCY': 2 }, /units\.agent\.env\.PARSER_CONCURRENCY: agent does not read it/],
    [{ config: { KAFKA_BROKERS: 'k:9092' } }, /config\.RESET_URL is required/],
    [{ 'defaults.replicas': 1 }, /replicas/],
    [{ terminationGracePeriodSeconds: 20 }, /terminationGracePeriodSeconds/],
    [{ preStopSeconds: 60 }, /terminationGracePeriodSeconds/],
    [{ terminationGracePeriodSeconds: 60, preStopSeconds: 35 }, /terminationGracePeriodSeconds: .* above the sum/],
    [{ 'units.gatewy.replicas': 3 }, /units\.gatewy: there is no such unit, but identity, /],
    [{ 'keda.jobsPerReplica.pasrer': 4 }, /keda\.jobsPerReplica\.pasrer: there is no such unit/],
    [{ 'podDisruptionBudget.maxUnavailable': 2 }, /podDisruptionBudget\.maxUnavailable: would let all processes of/],
    [{ 'podDisruptionBudget.maxUnavailable': '51%' }, /maxUnavailable: would let all processes of/],
    [{ 'config.KAFKA_USERNAME': 'parley' }, /config\.KAFKA_SASL_MECHANISM is required with KAFKA_USERNAME/],
    ...[0, '0%', '100%', '2'].map((given): [object, RegExp] => [
      { 'podDisruptionBudget.maxUnavailable': given },
      /podDisruptionBudget\/maxUnavailable|podDisruptionBudget\.maxUnavailable/,
    ]),
    [{ 'units.agent.replicas': 20 }, /units\.agent\.autoscaling\.maxReplicas: is below replicas/],
    [{ ingress: { enabled: true, hosts: ['a.test'] } }, /config\.TRUSTED_PROXIES is required with ingress\.enabled/],
    [
      { 'units.gateway': null, 'ingress.enabled': true, 'ingress.hosts': ['a.test'] },
      /config\.TRUSTED_PROXIES is required with ingress\.enabled/,
    ],
    [{ 'networkPolicy.engines.kafka.to': [] }, /networkPolicy\.engines\.kafka\.to is required/],
    [
      { 'units.agent.env.OTEL_EXPORTER_OTLP_ENDPOINT': 'http://collector:4318' },
      /networkPolicy\.engines\.telemetry\.to is required/,
    ],
    [{ 'monitoring.serviceMonitor.enabled': true }, /networkPolicy\.metricsFrom is required with monitoring\.service/],
    [{ 'service.externalTrafficPolicy': 'local' }, /externalTrafficPolicy/],
    [
      { 'config.KAFKA_SASL_MECHANISM': 'gssapi', 'config.KAFKA_USERNAME': 'parley' },
      /config\.KAFKA_SASL_MECHANISM: gssapi is none of/,
    ],
    [
      { 'config.KAFKA_SASL_MECHANISM': 'PLAIN', 'config.KAFKA_USERNAME': 'parley', 'config.KAFKA_TLS': 'false' },
      /config\.KAFKA_SASL_MECHANISM: PLAIN takes KAFKA_TLS=true/,
    ],
    ...['10.0.0.0/33', '2a01:4f8::/129', '10.0.0.0', '999.1.1.1/8', '1.1.1/8', '0.0.0.0/0', ':::/8'].map(
      (range): [object, RegExp] => [{ 'networkPolicy.clusterRanges': [range] }, /clusterRanges\/0/],
    ),
    [{ 'ingress.enabled': true }, /ingress\.hosts is required with ingress\.enabled/],
    [{ 'image.tag': ' ' }, /image\/tag/],
    [{ 'units.agent.resources.limit': { memory: '1Gi' } }, /resources/],
    [{ 'defaults.resources.limits.memroy': '1Gi' }, /memroy/],
    [{ publicUrl: 'https://user:password@parley.example.com' }, /publicUrl: has a user or a password/],
    [{ 'keda.prometheusUrl': 'http://user:password@prometheus:9090' }, /keda\.prometheusUrl: has a user or a password/],
    ...[
      'units',
      'config',
      'defaults.env',
      'tls.mesh',
      'monitoring.dashboards.labels',
      'service.externalTrafficPolicy',
    ].map((path): [object, RegExp] => [
      { [path]: null },
      new RegExp(`missing propert\\w+ '${path.split('.').at(-1)}'`, 'u'),
    ]),
  ];
  for (const [set, message] of refused) await t.throwsAsync(render(undefined, { ...required, ...set }), { message });
  const limits = { terminationGracePeriodSeconds: 61, preStopSeconds: 35 };
  const ranges = ['9.0.0.0/8', '198.51.100.16/28', '2a01:4f8::/32', '::ffff:0:0/96', '2001:db8:1:2:3:4:5:6/128'];
  await t.notThrowsAsync(render(undefined, { ...required, ...limits, 'networkPolicy.clusterRanges': ranges }));
});

chartTest(
  'the schema takes null only where it stands for nothing, since templates read all other values',
  async (t) => {
    interface Schema {
      properties?: Record<string, Schema>;
      required?: string[];
    }
    const optional = ({ properties = {}, required = [] }: Schema, path = ''): string[] =>
      Object.entries(properties).flatMap(([name, schema]) => [
        ...(required.includes(name) ? [] : [`${path}${name}`]),
        ...optional(schema, `${path}${name}.`),
      ]);
    const { properties, required, definitions } = JSON.parse(readFileSync(join(chart, 'values.schema.json'), 'utf8'));
    const nothing = [
      'image.tag',
      'imagePullSecrets',
      'priorityClassName',
      'service.annotations',
      'service.loadBalancerSourceRanges',
      'ingress.className',
      'ingress.annotations',
      'ingress.tls',
      'networkPolicy.clusterRanges',
      'migrations.existingSecret',
    ];
    const allowed = optional({ properties, required }).filter((path) => path !== 'global');
    t.deepEqual(allowed.toSorted(), nothing.toSorted());
    const ofPods = ['podAnnotations', 'affinity', 'tolerations'];
    const nulls = [...nothing, ...ofPods.map((name) => `defaults.${name}`)].map((path) => [path, null]);
    await t.notThrowsAsync(render('production', { ...Object.fromEntries(nulls), 'units.identity': null }));
    const { properties: ofUnit } = definitions.unit;
    const [, ofDefaults] = properties.defaults.allOf;
    t.deepEqual(
      ofDefaults.required,
      Object.keys(ofUnit).filter((name) => !ofPods.includes(name)),
    );
    t.deepEqual(ofDefaults.properties.autoscaling.required, Object.keys(ofUnit.autoscaling.properties));
  },
);

chartTest('processes are found and replaced without a gap, and Prometheus scrapes only units', async (t) => {
  const manifests = await render('production', { 'operator.enabled': true });
  const services = ofKind(manifests, 'Service');
  for (const { metadata, spec } of services.filter(({ metadata: { name } }) => /-(rpc|ops)$/u.test(name))) {
    t.is(spec.clusterIP, 'None', `${metadata.name}: clients balance the calls`);
  }
  const accounts = ofKind(manifests, 'ServiceAccount').map(({ metadata }) => metadata.name);
  for (const deployment of ofKind(manifests, 'Deployment')) {
    const { metadata, spec } = deployment;
    const { template } = spec;
    t.false(template.spec.enableServiceLinks, metadata.name);
    if (unitOf(deployment) === 'operator') continue;
    t.deepEqual(spec.strategy, { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } }, metadata.name);
    t.true(accounts.includes(template.spec.serviceAccountName), metadata.name);
    t.regex(template.metadata.annotations?.['checksum/config'] ?? '', /^[\da-f]{64}$/u, metadata.name);
  }
  for (const { metadata, spec } of ofKind(manifests, 'PodDisruptionBudget')) {
    t.is(spec.unhealthyPodEvictionPolicy, 'AlwaysAllow', metadata.name);
  }
  const jobs = ofKind(manifests, 'Job').map(({ metadata }) => metadata.annotations?.['helm.sh/hook']);
  t.deepEqual(jobs, ['pre-install,pre-upgrade', 'pre-install,pre-upgrade']);

  const [monitor] = ofKind(manifests, 'ServiceMonitor');
  const { matchLabels = {} } = (monitor?.spec.selector ?? {}) as { matchLabels?: Record<string, string> };
  const wanted = Object.entries(matchLabels);
  const scraped = services.filter(({ metadata }) => wanted.every(([name, value]) => metadata.labels[name] === value));
  t.deepEqual(scraped.map(unitOf).toSorted(), unitNames.toSorted());
  t.deepEqual(monitor?.spec.endpoints, [{ port: 'ops', path: '/metrics', interval: '15s' }]);
  const [ingress] = ofKind(manifests, 'Ingress');
  for (const side of ['read', 'send']) {
    const seconds = Number(ingress?.metadata.annotations?.[`nginx.ingress.kubernetes.io/proxy-${side}-timeout`]);
    t.true(seconds >= 3_600, 'WebSockets stay open while nobody says anything');
  }
});

chartTest("Services route to their unit's endpoints, operators' Services also before it is ready", async (t) => {
  const manifests = await render('production', { 'service.port': 8080 });
  const numbers = { public: 4000, graph: 4001, rpc: 50051, ops: 9464 };
  const expected = units.flatMap(({ name, serves }) => [
    ...[...serves, 'ops' as const].map((port) => {
      const service = ['rpc', 'ops'].includes(port) ? `parley-${name}-${port}` : `parley-${name}`;
      const number = port === 'public' ? 8080 : numbers[port];
      return `${service}:${number} → ${name} ${port} ${numbers[port]}${port === 'ops' ? ', ready or not' : ''}`;
    }),
    ...(serves.includes('graph') ? [`parley-${name}-rpc:4001 → ${name} graph 4001`] : []),
  ]);
  const found = ofKind(manifests, 'Service').flatMap(({ metadata, spec }) =>
    spec.ports.map(({ name, port, targetPort }) => {
      t.is(name, targetPort, metadata.name);
      const unit = (spec.selector as Record<string, string>)['app.kubernetes.io/component'] ?? '';
      const listening = containerOf(manifests, unit)?.ports.find((each) => each.name === targetPort)?.containerPort;
      const always = spec.publishNotReadyAddresses === true ? ', ready or not' : '';
      return `${metadata.name}:${port} → ${unit} ${targetPort} ${listening}${always}`;
    }),
  );
  t.deepEqual(found.toSorted(), expected.toSorted());

  const [ingress] = ofKind(manifests, 'Ingress');
  const backend = { service: { name: 'parley-gateway', port: { name: 'public' } } };
  const paths = [{ path: '/', pathType: 'Prefix', backend }];
  t.deepEqual(ingress?.spec.rules, [{ host: 'parley.example.com', http: { paths } }]);
  const [withVoice] = ofKind(await render('production', { 'ingress.voiceHosts': ['voice.example.com'] }), 'Ingress');
  const ofVoice = { service: { name: 'parley-voice', port: { name: 'public' } } };
  t.deepEqual(withVoice?.spec.rules?.at(-1), {
    host: 'voice.example.com',
    http: { paths: [{ path: '/', pathType: 'Prefix', backend: ofVoice }] },
  });
});

chartTest('everything that a hook needs exists before its pod is created', async (t) => {
  const hooks = (await render('production')).filter(isHook);
  const weightOf = ({ metadata }: Manifest) => Number(metadata.annotations?.['helm.sh/hook-weight'] ?? 0);
  const pods = hooks.filter(({ kind }) => kind === 'Job' || kind === 'Pod');
  t.deepEqual(pods.map(unitOf).toSorted(), ['doctor', 'migrate', 'topics']);
  for (const pod of pods) {
    const needed = hooks.filter((each) => unitOf(each) === unitOf(pod) && each !== pod);
    t.true(needed.some(({ kind }) => kind === 'NetworkPolicy'));
    for (const each of needed) {
      t.true(weightOf(each) < weightOf(pod), `${each.kind} of ${unitOf(pod)}`);
      t.is(each.metadata.annotations?.['helm.sh/hook'], pod.metadata.annotations?.['helm.sh/hook']);
    }
  }
});

chartTest("only hooks and doctor read the Secret of the schemas' owner, and only its own keys", async (t) => {
  const manifests = await render('production');
  for (const { metadata, spec } of manifests.filter(({ kind }) => ['Deployment', 'Job', 'Pod'].includes(kind)))
    for (const { name, valueFrom } of (spec.template?.spec ?? spec).containers[0].env) {
      const secret = name.endsWith('MIGRATIONS_DATABASE_URL') ? 'parley-migrations' : 'parley';
      if (valueFrom) t.is(valueFrom.secretKeyRef.name, secret, `${metadata.name} ${name}`);
    }
  const readers = manifests.filter((each) => JSON.stringify(each.spec ?? {}).includes('"parley-migrations"'));
  t.deepEqual(readers.map(unitOf), ['doctor', 'migrate']);
});

chartTest('a change of a setting replaces the pods of the units that read it, and no others', async (t) => {
  const sums = async (set: object) =>
    new Map(
      ofKind(await render('small', set), 'Deployment').map((each) => [
        unitOf(each),
        each.spec.template.metadata.annotations?.['checksum/config'],
      ]),
    );
  const before = await sums({});
  const changedBy = async (set: object) =>
    [...(await sums(set))].filter(([unit, sum]) => before.get(unit) !== sum).map(([unit]) => unit);
  t.deepEqual(await changedBy({ 'units.agent.env.LOG_LEVEL': 'debug' }), ['agent']);
  t.deepEqual((await changedBy({ 'config.S3_BUCKET': 'other' })).toSorted(), ['export', 'knowledge', 'parser']);
});

/** A test value for each chart value of a unit, and where the rendered objects contain it. */
const ofPods: Record<string, { give: (text: string) => unknown; find: (deployment: Spec, policy: Spec) => unknown }> = {
  nodeSelector: { give: (pool) => ({ pool }), find: ({ template }) => template.spec.nodeSelector },
  tolerations: { give: (key) => [{ key }], find: ({ template }) => template.spec.tolerations },
  affinity: {
    give: (text) => ({ podAffinity: text }),
    find: ({ template: { spec } }) => ({ podAffinity: spec.affinity?.podAffinity }),
  },
  podAnnotations: {
    give: (sidecar) => ({ sidecar }),
    find: ({ template: { metadata } }) => ({ sidecar: metadata.annotations?.['sidecar'] }),
  },
  tmpSize: { give: (size) => size, find: ({ template }) => template.spec.volumes[0]?.emptyDir?.sizeLimit },
  extraVolumes: { give: (name) => [{ name }], find: ({ template }) => template.spec.volumes.slice(-1) },
  extraVolumeMounts: {
    give: (mountPath) => [{ mountPath }],
    find: ({ template }) => template.spec.containers[0].volumeMounts.slice(-1),
  },
  extraEgress: { give: (port) => [{ ports: [{ port }] }], find: (_, { egress }) => egress.slice(-1) },
};

chartTest('values of one unit override the defaults', async (t) => {
  const given = Object.entries(ofPods).map(([name, { give }]) => ({
    [`defaults.${name}`]: give('all'),
    [`units.agent.${name}`]: give('own'),
  }));
  const manifests = await render('small', Object.assign({}, ...given));
  for (const unit of unitNames) {
    const of = (kind: string) => ofKind(manifests, kind).find((each) => unitOf(each) === unit)?.spec ?? t.fail(kind);
    for (const [name, { give, find }] of Object.entries(ofPods))
      t.deepEqual(
        find(of('Deployment'), of('NetworkPolicy')),
        give(unit === 'agent' ? 'own' : 'all'),
        `${unit} ${name}`,
      );
  }
});

chartTest('doctor gets the settings, secrets and volumes of every unit', async (t) => {
  const file = { name: 'prices', configMap: { name: 'prices' } };
  const manifests = await render('production', {
    'units.agent.env.LOG_LEVEL': 'debug',
    'units.agent.extraVolumes': [file],
    'units.agent.extraVolumeMounts': [{ name: 'prices', mountPath: '/etc/prices' }],
    'units.parser.autoscaling.enabled': false,
  });
  const [{ data } = {}] = ofKind(manifests, 'ConfigMap').filter((each) => unitOf(each) === 'doctor');
  const installation = JSON.parse(data?.['installation.json'] ?? '{}');
  t.deepEqual(Object.keys(installation).toSorted(), unitNames.toSorted());
  const [pod] = ofKind(manifests, 'Pod');
  const [container] = pod?.spec.containers ?? t.fail('there is no pod of doctor');
  t.deepEqual(container.args, ['doctor', '--installation', '/etc/parley/doctor/installation.json']);
  t.true(container.volumeMounts.some(({ mountPath }) => mountPath === '/etc/prices'));
  const given = container.env.map(({ name }) => name);
  for (const { name } of units) {
    const { data: expected, secrets } = environmentOf(manifests, name);
    t.deepEqual(installation[name].env, expected, name);
    t.deepEqual(
      secrets.filter((secret) => !given.includes(secret)),
      [],
      name,
    );
  }
  const processes = ['gateway', 'parser', 'knowledge'].map((name) => installation[name].processes);
  t.deepEqual(processes, [40 + 1, 3 + 1, 12 + 1], 'the most that there may be, and one that an upgrade adds');
});

chartTest('hooks get the settings of all units: defaults.env overrides config', async (t) => {
  const manifests = await render('small', {
    'defaults.env': { KAFKA_BROKERS: 'own:9093', KAFKA_TLS: true },
    ingress: { enabled: true, hosts: ['a.test'] },
    'config.TRUSTED_PROXIES': '',
    'defaults.env.TRUSTED_PROXIES': '10.244.0.0/16',
  });
  const topics = ofKind(manifests, 'Job').find((job) => unitOf(job) === 'topics');
  const env = topics?.spec.template.spec.containers[0].env ?? [];
  const { KAFKA_BROKERS, KAFKA_TLS } = environmentOf(manifests, 'parser').data;
  t.deepEqual([KAFKA_BROKERS, KAFKA_TLS], ['own:9093', 'true']);
  for (const [name, value] of Object.entries({ KAFKA_BROKERS, KAFKA_TLS }))
    t.is(env.find((each) => each.name === name)?.value, value);
});

chartTest('a load balancer preserves client addresses, unless an operator configures otherwise', async (t) => {
  const gateway = async (set: object) =>
    ofKind(await render('small', set), 'Service').find(({ metadata }) => metadata.name === 'parley-gateway')?.spec;
  t.is((await gateway({}))?.externalTrafficPolicy, undefined);
  t.is((await gateway({ 'service.type': 'LoadBalancer' }))?.externalTrafficPolicy, 'Local');
  const spread = { type: 'LoadBalancer', externalTrafficPolicy: 'Cluster', loadBalancerSourceRanges: ['192.0.2.0/24'] };
  const { externalTrafficPolicy, loadBalancerSourceRanges } = (await gateway({ service: spread })) ?? {};
  t.deepEqual([externalTrafficPolicy, loadBalancerSourceRanges], ['Cluster', ['192.0.2.0/24']]);
});

chartTest('a number reaches its unit as it was written', async (t) => {
  const manifests = await render('small', {
    'config.IDP_ONE_CLIENT_ID': 1_234_567_890,
    'config.OTEL_TRACES_SAMPLER_ARG': 0.1,
  });
  const { IDP_ONE_CLIENT_ID, OTEL_TRACES_SAMPLER_ARG } = environmentOf(manifests, 'identity').data;
  t.deepEqual([IDP_ONE_CLIENT_ID, OTEL_TRACES_SAMPLER_ARG], ['1234567890', '0.1']);
});

chartTest('addresses without a credential are accepted, even if they look like one', async (t) => {
  const config = {
    'config.MAIL_FROM': 'Parley: support <no-reply@example.com>',
    'config.KAFKA_BROKERS': 'a:9092,b:9092',
    'config.SMS_URL': 'https://sms.example.com/send?author=x&keyboard=de&design=',
  };
  const { data } = environmentOf(await render('small', config), 'identity');
  for (const [path, value] of Object.entries(config)) t.is(data[path.replace('config.', '')], value);
});

chartTest('a value cannot add fields to a manifest', async (t) => {
  const paths = [
    'priorityClassName',
    'existingSecret',
    'migrations.existingSecret',
    'ingress.className',
    'tls.mesh.secret',
    'tls.authorities.configMap',
    'monitoring.serviceMonitor.interval',
    'defaults.tmpSize',
  ];
  const set = paths.map((path) => [path, `${path}\nhostNetwork: true, optional: true }`]);
  const rendered = JSON.stringify(await render('production', Object.fromEntries(set)));
  for (const [path, value] of set) t.true(rendered.includes(JSON.stringify(value)), path);
  t.false(rendered.includes('"hostNetwork":'));
});

chartTest('labels and annotations are strings, whatever their values look like', async (t) => {
  const given = { port: 9464, isOn: true, large: 1_234_567_890, share: 0.5 };
  const texts = { port: '9464', isOn: 'true', large: '1234567890', share: '0.5' };
  const manifests = await render('production', {
    'operator.enabled': true,
    'defaults.podAnnotations': given,
    'defaults.nodeSelector': given,
    'service.annotations': given,
    'ingress.annotations': given,
    ...Object.fromEntries(
      ['serviceMonitor', 'prometheusRule', 'dashboards'].map((kind) => [`monitoring.${kind}.labels`, given]),
    ),
  });
  const of = (kind: string) => ofKind(manifests, kind);
  for (const { spec } of [...of('Deployment'), ...of('Job')])
    t.like(spec.template, { metadata: { annotations: texts }, spec: { nodeSelector: texts } });
  for (const pod of of('Pod')) t.like(pod, { metadata: { annotations: texts }, spec: { nodeSelector: texts } });
  const [gateway] = of('Service').filter(({ metadata }) => metadata.name === 'parley-gateway');
  for (const each of [gateway, ...of('Ingress')]) t.like(each, { metadata: { annotations: texts } });
  const dashboards = of('ConfigMap').filter(({ metadata }) => metadata.name.includes('-dashboard-'));
  for (const each of [...of('ServiceMonitor'), ...of('PrometheusRule'), ...dashboards])
    t.like(each, { metadata: { labels: texts } });
});

chartTest('a hook may run as long as a migration, or as long as an operator configures', async (t) => {
  const secondsOf = async (set: object) =>
    ofKind(await render('small', set), 'Job').map(({ spec }) => spec.activeDeadlineSeconds);
  for (const seconds of await secondsOf({})) t.true(seconds > statementTimeoutMs / 1_000, `${seconds} s`);
  t.deepEqual(await secondsOf({ 'migrations.deadlineSeconds': 7_200 }), [7_200, 7_200]);
});

test('every value has a comment', (t) => {
  const text = readFileSync(join(chart, 'values.yaml'), 'utf8').replace(/^units:\n(?:[ #].*\n)*/m, '');
  const lines = text.split('\n').filter((line) => line !== '');
  const bare = lines.filter((line, n) => {
    const isValue = /^\s*\w+: ?\S/.test(line);
    return isValue && !lines[n - 1]?.trim().startsWith('#');
  });
  t.deepEqual(bare, []);
});

chartTest('hooks and doctor run where units run by default', async (t) => {
  const manifests = await render('small', {
    'defaults.nodeSelector.pool': 'parley',
    'defaults.tolerations[0].key': 'dedicated',
    'defaults.podAnnotations.sidecar': 'none',
  });
  const pods = [
    ...ofKind(manifests, 'Job').map(({ spec }) => spec.template),
    ...ofKind(manifests, 'Pod').map(({ metadata, spec }) => ({ metadata, spec })),
  ];
  t.is(pods.length, 3);
  for (const pod of pods)
    t.like(pod, {
      metadata: { annotations: { sidecar: 'none' } },
      spec: { nodeSelector: { pool: 'parley' }, tolerations: [{ key: 'dedicated' }] },
    });
});
