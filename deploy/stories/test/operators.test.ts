import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { unitNames as units } from '@parley/units';
import test from 'ava';
import { converse, endSession, evaluated, sendMessage } from '../src/conversation.ts';
import { stories } from '../src/stories.ts';

const story = stories(test, { on: 'processes' });

for (const unit of units) {
  story(`${unit} reports that it is alive and ready`, async (t, mesh) => {
    const { addresses } = mesh;
    for (const ops of addresses(unit, 'ops')) {
      const [health, ready] = await Promise.all([fetch(`${ops}/healthz`), fetch(`${ops}/readyz`)]);
      t.is(health.status, 200);
      t.is(ready.status, 200, await ready.text());
      t.is((await fetch(`${ops}/anything-else`)).status, 404);
    }
  });
}

story('every unit exports metrics of its work, and the chart reads no others', async (t, mesh) => {
  const { person, addresses } = mesh;
  const ada = await person();
  const { sessionId, events } = await converse(t, ada);
  await sendMessage(ada, sessionId, 'Count me.');
  await events.turns(1);
  await endSession(ada, sessionId);
  await evaluated(ada, sessionId);
  await t.throwsAsync(endSession(ada, 2 ** 31 - 1));
  const metrics = new Map<string, string>();
  for (const unit of units) {
    const replicas = await Promise.all(addresses(unit, 'ops').map((ops) => fetch(`${ops}/metrics`)));
    const texts = await Promise.all(replicas.map((response) => response.text()));
    for (const { status } of replicas) t.is(status, 200);
    for (const text of texts) t.regex(text, /^# HELP /m, unit);
    metrics.set(unit, texts.join('\n'));
  }
  t.regex(metrics.get('gateway') ?? '', /operation="sendMessage"/);
  t.regex(metrics.get('agent') ?? '', /RunTurn/);
  for (const unit of ['gateway', 'session'])
    t.regex(metrics.get(unit) ?? '', /parley_graph_duration_seconds_count{.*operation="endSession",outcome="refused"/);
  for (const [unit, text] of metrics) t.notRegex(text, /Count me|customer-1/, unit);
  const exported = new Set([...metrics.values()].flatMap((text) => namesIn(text, /^# TYPE (\S+)/gm)));
  t.deepEqual(
    metricsOfChart().filter((name) => !exported.has(name) && !exported.has(name.replace(/_(?:bucket|sum|count)$/, ''))),
    [],
  );
});

const namesIn = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, name = '']) => name);

/** Returns the metrics that the chart's alerts, dashboards and autoscalers read. */
function metricsOfChart(): string[] {
  const chart = join(import.meta.dirname, '../../../charts/parley');
  const read = globSync('{files/{alerts.yaml,dashboards/*.json},templates/{scaling,monitoring}.yaml}', {
    cwd: chart,
  }).flatMap((path) => {
    const text = readFileSync(join(chart, path), 'utf8');
    // A folded YAML scalar continues a long query on the next lines.
    const queries = path.endsWith('.json')
      ? namesIn(text, /"expr": "(.*)"/g)
      : namesIn(text, /(?:expr|query): (.*(?:\n {10}\S.*)*)/g);
    return queries.flatMap((query) => {
      const labels = /\\".*?\\"|\{.*?\}|\bby \(.*?\)/g;
      return namesIn(query.replaceAll(labels, ''), /\b((?:parley|nodejs|process|gen_ai)_\w+)/g);
    });
  });
  return [...new Set(read)];
}
