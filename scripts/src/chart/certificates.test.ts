import { testWith } from '../testing/test-with.ts';
import { environmentOf, ofKind, unitOf } from './environment.ts';
import { helm, render } from './render.ts';

const chartTest = await testWith(helm);
const encrypted = { 'tls.authorities.configMap': 'company-ca', 'tls.mesh.secret': 'parley-mesh' };

chartTest('certificates are mounted at the paths in settings, and units call each other by TLS', async (t) => {
  const manifests = await render('small', { ...encrypted, 'config.KAFKA_TLS': true });
  for (const { metadata, spec } of [...ofKind(manifests, 'Deployment'), ...ofKind(manifests, 'Job')]) {
    const { containers, volumes } = spec.template.spec;
    const [{ volumeMounts, env, envFrom = [] }] = containers;
    const isUnit = envFrom.length > 0;
    const mounts = volumeMounts.filter(({ name }) => name !== 'tmp');
    t.deepEqual(
      mounts.map(({ name, mountPath, readOnly }) => [name, mountPath, readOnly]),
      [['authorities', '/etc/parley/authorities', true], ...(isUnit ? [['mesh', '/etc/parley/mesh', true]] : [])],
      metadata.name,
    );
    const sources = volumes.flatMap(({ configMap, secret }) => configMap?.name ?? secret?.secretName ?? []);
    t.deepEqual(sources, isUnit ? ['company-ca', 'parley-mesh'] : ['company-ca'], metadata.name);
    const { data } = isUnit
      ? environmentOf(manifests, metadata.labels['app.kubernetes.io/component'] ?? '')
      : { data: Object.fromEntries(env.map(({ name, value }) => [name, value])) };
    t.is(data.NODE_EXTRA_CA_CERTS, '/etc/parley/authorities/ca.crt', metadata.name);
  }
  const { data } = environmentOf(manifests, 'gateway');
  t.is(data.MESH_TLS_KEY_FILE, '/etc/parley/mesh/tls.key');
  t.is(data.SESSION_GRAPH_URL, 'https://parley-session-rpc.parley.svc:4001');
  const topics = ofKind(manifests, 'Job').find((job) => unitOf(job) === 'topics');
  const told = topics?.spec.template.spec.containers[0].env.map(({ name, value }) => `${name} ${value}`) ?? [];
  t.true(told.includes('KAFKA_TLS true'), told.join());
  t.true(told.includes('KAFKA_PASSWORD undefined'), told.join());

  const plain = await render('small');
  t.is(environmentOf(plain, 'gateway').data.SESSION_GRAPH_URL, 'http://parley-session-rpc.parley.svc:4001');
  const both = { 'tls.authorities': { secret: 'a', configMap: 'b' } };
  await t.throwsAsync(render('small', both), { message: /tls\.authorities: a Secret or a ConfigMap, not both/ });
});
