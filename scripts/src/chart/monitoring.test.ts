import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { unitNames } from '@parley/units';
import { parser } from '@prometheus-io/lezer-promql';
import test from 'ava';
import { root } from '../root.ts';
import { testWith } from '../testing/test-with.ts';
import { ofKind } from './environment.ts';
import { type Alert, chart, helm, render } from './render.ts';

const chartTest = await testWith(helm);

async function alerts(): Promise<Alert[]> {
  const rules = ofKind(await render('production'), 'PrometheusRule');
  return rules.flatMap(({ spec }) => spec.groups).flatMap((group) => group.rules);
}

/** Returns the metrics that a query reads. @throws Error if the query is not PromQL */
function metricsIn(query: string): string[] {
  const text = query.replaceAll('$__rate_interval', '5m');
  const names: string[] = [];
  parser.parse(text).iterate({
    enter({ type, from, to }) {
      if (type.isError) throw new Error(`no PromQL at ${from}: ${query}`);
      if (type.name === 'Identifier') names.push(text.slice(from, to));
    },
  });
  return names;
}

chartTest(
  'alerts are PromQL of metrics that units have, say what to do, and stand in the operating pages',
  async (t) => {
    const pages = readFileSync(join(root, 'deploy/README.md'), 'utf8');
    const rules = await alerts();
    const inPages = [...pages.matchAll(/^- `(Parley\w+)`/gmu)].map(([, name = '']) => name);
    t.deepEqual([...new Set(rules.map(({ alert }) => alert))].toSorted(), inPages.toSorted());
    for (const { alert, expr, labels, annotations } of rules) {
      t.true(metricsIn(expr).length > 0, alert);
      t.regex(labels.severity, /^(warning|critical)$/u, alert);
      t.true(annotations.summary.length > 10 && annotations.runbook.length > 10, alert);
      // Alerts group by namespace; otherwise one installation could hide the failure of another.
      t.true(/by \(namespace|namespace="/u.test(expr), `${alert}: of all namespaces together`);
    }
  },
);

chartTest('an alert rings for each unit that has no ready process, also for one that has none at all', async (t) => {
  const down = (await alerts()).filter(({ alert }) => alert === 'ParleyUnitDown');
  t.deepEqual(down.map(({ labels }) => labels.unit ?? '').toSorted(), unitNames.toSorted());
  for (const { expr, labels } of down)
    t.is(expr, `absent(parley_ready{namespace="parley", unit="${labels.unit}"} == 1)`);
});

chartTest('the alert on unresponsive processes covers the Services that Prometheus scrapes', async (t) => {
  const services = ofKind(await render('production'), 'Service').flatMap(({ metadata }) =>
    metadata.labels['parley-endpoint'] === 'ops' ? [metadata.name] : [],
  );
  const { expr = '' } = (await alerts()).find(({ alert }) => alert === 'ParleyProcessDown') ?? {};
  const [, pattern = ''] = /service=~"(.*?)"/u.exec(expr) ?? [];
  t.is(services.length, unitNames.length);
  for (const name of services) t.regex(name, new RegExp(`^${pattern}$`, 'u'));
});

chartTest('dashboards are ConfigMaps with one file of JSON each, labelled for the sidecar of Grafana', async (t) => {
  const manifests = ofKind(await render('production'), 'ConfigMap').filter(({ metadata }) =>
    /-dashboard-/.test(metadata.name),
  );
  t.is(manifests.length, 4);
  for (const { metadata, data } of manifests) {
    t.is(metadata.labels.grafana_dashboard, '1');
    const [[name, text] = ['', ''], ...others] = Object.entries(data ?? {});
    t.deepEqual(others, []);
    t.is(`${JSON.parse(text).uid}.json`, name);
  }
});

test('every query of a dashboard is PromQL', (t) => {
  for (const file of globSync('files/dashboards/*.json', { cwd: chart })) {
    const { panels } = JSON.parse(readFileSync(join(chart, file), 'utf8'));
    const queries: string[] = panels.flatMap(({ targets }: { targets: { expr: string }[] }) =>
      targets.map(({ expr }) => expr),
    );
    for (const query of queries) t.notThrows(() => metricsIn(query), `${file}: ${query}`);
  }
});

test('every metric that the chart names is one of the units', (t) => {
  const files = globSync(['templates/*', 'files/alerts.yaml'], { cwd: chart });
  const named = files.flatMap((file) => readFileSync(join(chart, file), 'utf8').match(/\bparley_\w+/g) ?? []);
  const sources = globSync(['gateway/src/**/*.ts', 'services/**/src/**/*.ts'], {
    cwd: root,
    exclude: ['**/node_modules/**', '**/*.test.ts'],
  });
  const text = sources.map((file) => readFileSync(join(root, file), 'utf8')).join('\n');
  const names = [...new Set(named.map((name) => name.replace(/_count$/, '')))];
  t.true(names.length > 5);
  t.deepEqual(
    names.filter((name) => !text.includes(`'${name}'`)),
    [],
  );
});
