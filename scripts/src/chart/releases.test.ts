import { testWith } from '../testing/test-with.ts';
import { unitOf } from './environment.ts';
import { chart, helm, type Manifest, type Rule, render } from './render.ts';

const chartTest = await testWith(helm);

/** Renders several releases in one namespace with all optional features. */
function renderAll(...releases: string[]): Promise<Manifest[][]> {
  return Promise.all(releases.map((name) => render('production', { 'operator.enabled': true }, chart, name)));
}

for (const releases of [
  ['parley', 'staging', 'parley-staging'],
  ['team', 'team-parley', 'team-parley-parley'],
  [`${'long-'.repeat(9)}one`, `${'long-'.repeat(9)}two`],
])
  chartTest(`releases in one namespace share no names: ${releases.join(', ')}`, async (t) => {
    const names = (await renderAll(...releases)).flatMap((manifests) =>
      manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`),
    );
    t.deepEqual(names.toSorted(), [...new Set(names)].toSorted());
    for (const name of names) t.false(name.startsWith('Service ') && name.length > 'Service '.length + 63, name);
  });

chartTest('selectors and policies of a release match only its own pods', async (t) => {
  const [, own = [], others = []] = await renderAll('parley', 'parley-a', 'parley-b');
  const labelled = [...own, ...others].map(({ metadata }) => metadata.labels['app.kubernetes.io/instance']);
  t.deepEqual([...new Set(labelled)], ['parley-a', 'parley-b']);
  const peers = (rules: Rule[] = []) => rules.flatMap(({ from, to }) => from ?? to ?? []);
  for (const manifest of own) {
    const { selector, podSelector, ingress, egress } = manifest.spec ?? {};
    const inNamespace = manifest.kind === 'NetworkPolicy' ? [...peers(ingress), ...peers(egress)] : [];
    const selected = [
      selector,
      podSelector,
      ...inNamespace.flatMap((peer) => ('namespaceSelector' in peer ? [] : [peer.podSelector])),
    ];
    for (const each of selected.filter(Boolean)) {
      const name = `${manifest.kind} of ${unitOf(manifest)}`;
      t.regex(JSON.stringify(each), /"app.kubernetes.io\/instance":"parley-a"/u, name);
    }
  }
});

chartTest('releases and namespaces have string values, whatever their names look like', async (t) => {
  const manifests = await render('production', { 'operator.enabled': true }, chart, 'true', '4747');
  for (const { kind, metadata } of manifests) {
    t.is(metadata.namespace, '4747', `${kind} ${metadata.name}`);
    t.is(metadata.labels['app.kubernetes.io/instance'], 'true', `${kind} ${metadata.name}`);
  }
  t.notRegex(JSON.stringify(manifests), /"(?:namespace|app\.kubernetes\.io\/instance)":[^"]/u);
});

chartTest('a release name that Kubernetes refuses in names of Services is refused before migrations run', async (t) => {
  for (const release of ['2024', '1e3', 'a.b'])
    await t.throwsAsync(render('small', {}, chart, release), {
      message: new RegExp(`release name ${release}: must begin with a letter`, 'u'),
    });
});
