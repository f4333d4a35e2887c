import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { ofKind } from '../chart/environment.ts';
import { type Alert, chart, helm, render } from '../chart/render.ts';
import { testWith } from '../testing/test-with.ts';
import { exportedLabels } from './testing/exported-labels.ts';
import { type Exported, queryLabels } from './testing/query-labels.ts';

process.env.LOG_LEVEL ??= 'fatal';
const chartTest = await testWith(helm);
let exported: Exported;

test.before(async () => {
  exported = await exportedLabels();
});

/** Returns the problems of a query, including labels in `named` that its result lacks. */
function problemsOf(query: string, named: string[]): string[] {
  const { labels, problems } = queryLabels(query, exported);
  const missing = named.filter((label) => !labels?.has(label)).map((label) => `its result has no label ${label}`);
  return [...problems, ...missing].map((problem) => `${problem}: ${query}`);
}

const namesIn = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, name = '']) => name);

interface Shown {
  panels: { targets: { expr: string; legendFormat: string }[] }[];
  templating: { list: { type: string; query: { query: string } }[] };
}

const dashboards = globSync('files/dashboards/*.json', { cwd: chart });

for (const file of dashboards) {
  test(`${file} reads labels and values that units export, and its legends those of its queries`, (t) => {
    const { panels, templating }: Shown = JSON.parse(readFileSync(join(chart, file), 'utf8'));
    const targets = panels.flatMap((panel) => panel.targets);
    t.true(targets.length > 0);
    t.deepEqual(
      targets.flatMap(({ expr, legendFormat }) => problemsOf(expr, namesIn(legendFormat, /\{\{(\w+)\}\}/gu))),
      [],
    );
    const variables = templating.list.filter(({ type }) => type === 'query');
    t.true(variables.length > 0);
    for (const { query } of variables) {
      const [, selector = '', label = ''] = /^label_values\((.*), (\w+)\)$/u.exec(query.query) ?? [];
      t.deepEqual(problemsOf(selector, [label]), []);
    }
  });
}

chartTest('alerts read labels and values that units export, and name those of their queries', async (t) => {
  const rules = ofKind(await render('production'), 'PrometheusRule').flatMap(({ spec }) => spec.groups);
  const alerts = rules.flatMap((group) => group.rules);
  t.true(alerts.length > 10);
  const namedBy = ({ labels, annotations }: Alert) =>
    namesIn(JSON.stringify(annotations), /\$labels\.(\w+)/gu).filter((label) => !(label in labels));
  t.deepEqual(
    alerts.flatMap((alert) => problemsOf(alert.expr, namedBy(alert))),
    [],
  );
});

chartTest('scalers read labels and values that units export', async (t) => {
  const triggers = ofKind(await render('production'), 'ScaledObject').flatMap(({ spec }) => spec.triggers);
  const queries = triggers.flatMap(({ metadata }) => metadata['query'] ?? []);
  t.true(queries.length > 0);
  t.deepEqual(
    queries.flatMap((query) => problemsOf(query, [])),
    [],
  );
});

/** Units call models for different purposes, and each unit exports the name `other` for models that the operator has not configured. */
test('dashboard queries by model over several units also show the provider or the operation', (t) => {
  const byModelAlone = dashboards.flatMap((file) => {
    const { panels }: Shown = JSON.parse(readFileSync(join(chart, file), 'utf8'));
    return panels
      .flatMap((panel) => panel.targets)
      .map(({ expr }) => expr)
      .filter((expr) => {
        const { labels } = queryLabels(expr, exported);
        const units = namesIn(expr, /\b(\w+)\{/gu).flatMap((metric) => [...(exported.labelsOf(metric)?.keys() ?? [])]);
        const tells = ['gen_ai_provider_name', 'gen_ai_operation_name'].some((label) => labels?.has(label));
        return labels?.has('gen_ai_request_model') && new Set(units).size > 1 && !tells;
      });
  });
  t.deepEqual(byModelAlone, []);
});

test('model calls that a caller abandoned are not shown as failures', (t) => {
  const queries = dashboards.flatMap((file) => {
    const { panels }: Shown = JSON.parse(readFileSync(join(chart, file), 'utf8'));
    return panels.flatMap((panel) => panel.targets.map(({ expr }) => expr));
  });
  const ofFailures = queries.filter((query) => /error_type[!=]/u.test(query));
  t.true(ofFailures.length > 0);
  for (const query of ofFailures) t.true(query.includes('error_type!~"|cancelled"'), query);
});

const found: [what: string, query: string, named: string[], problem: RegExp][] = [
  ['a metric of no unit', 'sum(parley_redy)', [], /no unit exports parley_redy/u],
  ['a label of a matcher', 'parley_ready{uint="agent"}', [], /parley_ready has no label uint/u],
  ['a grouping', 'sum by (kind, queue) (parley_jobs)', ['kind'], /parley_jobs has no label queue/u],
  ['a label that is summed away', 'sum by (kind) (parley_jobs)', ['state'], /no label state/u],
  ['a value', 'parley_jobs{state="idle"}', [], /state of parley_jobs is never idle/u],
  ['a value of a pattern', 'parley_ready{unit=~"agent|agnet"}', [], /unit of parley_ready is never agnet/u],
  ['a unit without it', 'parley_jobs{unit="gateway"}', [], /unit of parley_jobs is never gateway/u],
  ['a label of one side alone', 'sum by (kind) (parley_jobs) / sum(parley_jobs)', [], /both sides have other labels/u],
  [
    'a quantile without buckets',
    'histogram_quantile(0.5, sum by (unit) (rate(parley_rpc_duration_seconds_bucket[5m])))',
    [],
    /no label le/u,
  ],
];

for (const [what, query, named, problem] of found) {
  test(`a query is found with ${what} that there is not`, (t) => t.regex(problemsOf(query, named).join(), problem));
}
