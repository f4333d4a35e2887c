import { readSettings } from '@parley/kernel/settings/config';
import { neededKafkaSettings } from '@parley/kernel/settings/shared-settings';
import { testWith } from '../testing/test-with.ts';
import { ofKind, unitOf } from './environment.ts';
import { helm, type Rule, render } from './render.ts';

const chartTest = await testWith(helm);

chartTest("there is a pod for operators' commands only if values enable it", async (t) => {
  const names = async (set: object) => (await render('production', set)).filter((each) => unitOf(each) === 'operator');
  t.deepEqual(await names({}), []);
  t.is((await names({ 'operator.enabled': true })).length, 2);
});

chartTest(
  'what operators type finds identity, action, session and Kafka from their pod, as the units do',
  async (t) => {
    const manifests = await render('production', { 'operator.enabled': true });
    const ofOperator = manifests.filter((each) => unitOf(each) === 'operator');
    const [pod] = ofKind(ofOperator, 'Deployment').map(({ spec }) => spec.template.spec);
    const [container] = pod?.containers ?? t.fail('there is no pod');
    t.is(container.image, 'registry.example.com/parley/commands:0.1.0');
    t.true(container.securityContext.readOnlyRootFilesystem);

    const env = Object.fromEntries(container.env.map(({ name, value }) => [name, value ?? 'from the Secret']));
    t.is(env['IDENTITY_RPC_URL'], 'parley-identity-rpc.parley.svc:50051');
    t.is(env['ACTION_RPC_URL'], 'parley-action-rpc.parley.svc:50051');
    t.is(env['SESSION_RPC_URL'], 'parley-session-rpc.parley.svc:50051');
    t.is(env['OPERATOR_KEY'], 'from the Secret');
    t.is(env['MESH_KEY'], undefined);
    t.like(readSettings(env, neededKafkaSettings), { tls: true, login: { mechanism: 'scram-sha-512' } });
    const files = Object.entries(env).flatMap(([name, path]) => (/_FILE$|^NODE_EXTRA_CA/u.test(name) ? [path] : []));
    const folders = container.volumeMounts.map(({ mountPath }) => `${mountPath}/`);
    t.is(files.length, 4);
    for (const file of files)
      t.true(
        folders.some((folder) => file.startsWith(folder)),
        file,
      );

    for (const unit of ['identity', 'action', 'session']) {
      const calls = ofKind(ofOperator, 'NetworkPolicy').flatMap(({ spec }) => spec.egress.filter(leadsTo(unit)));
      t.is(calls.length, 1, unit);
      const [policy] = ofKind(manifests, 'NetworkPolicy').filter((each) => unitOf(each) === unit);
      t.is(policy?.spec.ingress.filter(leadsTo('operator')).length, 1, unit);
    }
  },
);

function leadsTo(unit: string) {
  return ({ from, to }: Rule) =>
    (from ?? to ?? []).some(({ podSelector }) => podSelector?.matchLabels?.['app.kubernetes.io/component'] === unit);
}
