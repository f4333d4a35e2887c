import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { exec } from '@parley/servers/exec';
import { emptyFolder } from '@parley/servers/testing/folder';
import { unitNames } from '@parley/units';
import { ofKind } from '../chart/environment.ts';
import { helm, render } from '../chart/render.ts';
import { tools } from '../install-tool.ts';
import { testWith } from '../testing/test-with.ts';
import { promtool } from './promtool.ts';

await testWith(helm);
const alertTest = await testWith(promtool);

/** Values of series by minute, or one value for all minutes; undefined if the series is missing. */
type Series = Record<string, number | ((minute: number) => number) | undefined>;

const healthy: Series = Object.fromEntries(unitNames.map((unit) => [`parley_ready{unit="${unit}",pod="1"}`, 1]));

const perMinute = (count: number) => (minute: number) => count * minute;
const every = (minutes: number) => (minute: number) => Math.floor(minute / minutes);
/** A counter that increases only at minute 5. */
const once = (count: number) => (minute: number) => (minute < 5 ? 0 : count);

const graph = (outcome: string, more = '') =>
  `parley_graph_duration_seconds_count{unit="gateway",operation="me",outcome="${outcome}"${more}}`;
const rpc = (outcome: string, more = '') =>
  `parley_rpc_duration_seconds_count{unit="agent",method="m",outcome="${outcome}"${more}}`;
const jobs = (state: string, kind = 'parser.document', pod = 1) =>
  `parley_jobs{unit="session",state="${state}",kind="${kind}",pod="${pod}"}`;
const failed = (outcome: string) =>
  `parley_job_failures_total{unit="parser",kind="parser.document",outcome="${outcome}"}`;
const model = (pod: number) =>
  `parley_agent_model_kept_out{gen_ai_provider_name="p",gen_ai_request_model="m",pod="${pod}"}`;
const waiting = (pod: number) => `parley_action_calls_waiting{pod="${pod}"}`;
const called = (error: string) =>
  `parley_action_call_duration_seconds_count{unit="action",kind="ACTION",error="${error}"}`;
const posted = (outcome: string) => `parley_session_sync_total{unit="session",outcome="${outcome}"}`;
const spoken = (outcome: string, what = 'tts') =>
  `parley_voice_provider_seconds_count{unit="voice",what="${what}",outcome="${outcome}"}`;
const [spend, ceiling] = ['parley_spend_month_usd{}', 'parley_spend_ceiling_usd{}'];
const starts = 'process_start_time_seconds{unit="agent"}';

const failures = (of: typeof graph, ...never: Series[]): Case => ({
  rings: [[14, { [of('error')]: perMinute(1), [of('ok')]: perMinute(18) }]],
  never: [
    { [of('error')]: perMinute(1), [of('ok')]: perMinute(20) },
    { [of('error')]: every(2) },
    // Series with one bad minute, and with occasional errors.
    { [of('error')]: (minute) => (minute < 5 ? 0 : 800) + every(4)(minute), [of('ok')]: perMinute(1_000) },
    { [of('refused')]: perMinute(10) },
    ...never,
  ],
});

interface Case {
  /** Series for which the alert rings, each with the first minute at which it rings. */
  rings: [from: number, given: Series][];
  never: Series[];
}

/** Cases by alert. A case has values just above and just below the threshold, in addition to the series of a healthy installation. */
const cases: Record<string, Case> = {
  // Errors of subgraphs do not count, because subgraphs answer the gateway, not clients.
  ParleyRequestsFail: failures(graph, { [graph('error').replace('gateway', 'agent')]: perMinute(1) }),
  ParleyOperationFails: {
    rings: [
      // 20 errors an hour, counted by two processes.
      [29, { [graph('error', ',pod="1"')]: every(6), [graph('error', ',pod="2"')]: (minute) => every(6)(minute + 3) }],
      [30, { [graph('error')]: (minute) => 10 * every(10)(minute), [graph('ok')]: (minute) => 9 * every(10)(minute) }],
    ],
    never: [
      { [graph('error')]: (minute) => 10 * every(10)(minute), [graph('ok')]: (minute) => 11 * every(10)(minute) },
      { [graph('error')]: once(2) },
      { [graph('error')]: once(50) },
      { [graph('refused')]: perMinute(10) },
      { [graph('error').replace('gateway', 'agent')]: perMinute(1) },
    ],
  },
  ParleyCallsBetweenUnitsFail: failures(rpc),
  ParleyEventsWait: {
    rings: [[5, { 'parley_outbox_oldest_seconds{unit="agent"}': 121 }]],
    never: [{ 'parley_outbox_oldest_seconds{unit="agent"}': 120 }],
  },
  ParleyConsumerLags: {
    rings: [[15, { 'parley_consumer_lag{unit="a",topic="a"}': 501, 'parley_consumer_lag{unit="a",topic="b"}': 500 }]],
    never: [{ 'parley_consumer_lag{unit="a",topic="a"}': 1_000, 'parley_consumer_lag{unit="b",topic="a"}': 1_000 }],
  },
  ParleyConsumerStopped: {
    rings: [
      [5, { 'parley_consumer_partitions{topic="a",pod="1"}': 0, 'parley_consumer_partitions{topic="b",pod="1"}': 1 }],
    ],
    never: [{ 'parley_consumer_partitions{topic="a",pod="1"}': 0, 'parley_consumer_partitions{topic="a",pod="2"}': 1 }],
  },
  ParleyTurnsWait: {
    rings: [[5, { [jobs('waiting', 'session.turn')]: 101 }]],
    // Every process reports the turns of all processes, so the alert does not add the numbers of several processes.
    never: [
      { [jobs('waiting', 'session.turn', 1)]: 100, [jobs('waiting', 'session.turn', 2)]: 100 },
      { [jobs('running', 'session.turn')]: 101, [jobs('waiting')]: 101 },
    ],
  },
  ParleyJobsWait: {
    rings: [[15, { [jobs('waiting')]: 1_001 }]],
    never: [
      { [jobs('waiting', 'a', 1)]: 1_000, [jobs('waiting', 'a', 2)]: 1_000, [jobs('waiting', 'b')]: 1_000 },
      { [jobs('running')]: 1_001, [jobs('waiting', 'session.turn')]: 1_001 },
    ],
  },
  ParleyModelKeptOut: {
    rings: [
      [5, { [model(1)]: 1, [model(2)]: 0 }],
      // The model responds from time to time.
      [6, { [model(1)]: (minute) => minute % 2 }],
    ],
    never: [{ [model(1)]: 0, [model(2)]: 0 }],
  },
  ParleyOutboundCallsWait: {
    rings: [[10, { [waiting(1)]: 0, [waiting(2)]: 201 }]],
    never: [{ [waiting(1)]: 200, [waiting(2)]: 150 }],
  },
  ParleyCredentialsUnavailable: {
    rings: [[7, { [called('CREDENTIAL_UNAVAILABLE')]: perMinute(3) }]],
    never: [
      { [called('CREDENTIAL_UNAVAILABLE')]: every(5) },
      { [called('CREDENTIAL_MISSING')]: perMinute(10), [called('none')]: perMinute(100) },
    ],
  },
  ParleyWebhooksFail: {
    rings: [[26, { [posted('failed')]: perMinute(5), [posted('delivered')]: 7 }]],
    never: [
      { [posted('failed')]: every(2) },
      { [posted('failed')]: perMinute(100), [posted('delivered')]: every(10) },
      { [posted('given_up')]: perMinute(100) },
    ],
  },
  ParleySpeechFails: {
    rings: [[16, { [spoken('error')]: perMinute(1), [spoken('ok', 'stt')]: perMinute(9) }]],
    never: [
      { [spoken('error')]: every(2) },
      { [spoken('error')]: perMinute(9), [spoken('ok')]: every(2) },
      { [spoken('refused')]: perMinute(9) },
    ],
  },
  // promtool's tests start at Unix time 0.
  ParleyMeshCertificateExpires: {
    rings: [
      [
        11,
        {
          'parley_mesh_certificate_expires_seconds{pod="1"}': 22_200,
          'parley_mesh_certificate_expires_seconds{pod="2"}': 99_999,
        },
      ],
    ],
    never: [{ 'parley_mesh_certificate_expires_seconds{pod="1"}': 25_200 }],
  },
  ParleyThrottlesAlone: {
    rings: [[6, { 'parley_throttle_degraded_total{}': perMinute(1) }]],
    never: [{ 'parley_throttle_degraded_total{}': 100 }],
  },
  ParleyBusy: {
    rings: [
      [10, { 'nodejs_eventloop_lag_p99_seconds{pod="1"}': 0.501, 'nodejs_eventloop_lag_p99_seconds{pod="2"}': 0 }],
    ],
    never: [{ 'nodejs_eventloop_lag_p99_seconds{pod="1"}': 0.5, 'nodejs_eventloop_lag_p99_seconds{pod="2"}': 0.5 }],
  },
  ParleyProcessNotReady: {
    rings: [[10, { 'parley_ready{unit="agent",pod="2"}': 0 }]],
    never: [{ 'parley_ready{unit="agent",pod="2"}': (minute) => Math.min(1, every(10)(minute)) }],
  },
  ParleyDatabasePoolWaits: {
    rings: [
      [
        5,
        { 'parley_database_transactions_waiting{pod="1"}': 1.01, 'parley_database_transactions_waiting{pod="2"}': 0 },
      ],
    ],
    never: [{ 'parley_database_transactions_waiting{pod="1"}': 1, 'parley_database_transactions_waiting{pod="2"}': 1 }],
  },
  ParleyEventsGivenUp: {
    rings: [[5, { 'parley_events_given_up_total{}': once(1) }]],
    never: [{ 'parley_events_given_up_total{}': 1 }],
  },
  ParleyJobsGivenUp: {
    rings: [[5, { [failed('given_up')]: once(6) }]],
    never: [{ [failed('given_up')]: once(5), [failed('retried')]: once(100) }],
  },
  ParleyJobsRetried: {
    rings: [[20, { [failed('retried')]: once(61) }]],
    never: [{ [failed('retried')]: once(60), [failed('given_up')]: once(100) }],
  },
  ParleySpendNearsCeiling: {
    rings: [[5, { [spend]: once(80.01), [ceiling]: 100 }]],
    never: [{ [spend]: once(80), [ceiling]: 100 }, { [spend]: 100 }],
  },
  ParleySpendAtCeiling: {
    rings: [[5, { [spend]: once(100), [ceiling]: 100 }]],
    never: [{ [spend]: once(99.99), [ceiling]: 100 }, { [spend]: 100 }],
  },
  ParleyUnitDown: {
    rings: [
      [2, { 'parley_ready{unit="agent",pod="1"}': 0 }],
      [2, { 'parley_ready{unit="agent",pod="1"}': undefined }],
    ],
    never: [{ 'parley_ready{unit="agent",pod="2"}': 0 }],
  },
  ParleyProcessDown: {
    rings: [[5, { 'up{service="parley-agent-ops",pod="1"}': 1, 'up{service="parley-agent-ops",pod="2"}': 0 }]],
    never: [{ 'up{service="parley-agent-ops",pod="1"}': 1, 'up{service="postgres",pod="1"}': 0 }],
  },
  ParleyRestarts: {
    rings: [[15, { [starts]: every(5) }]],
    never: [
      { [starts]: (minute) => Math.min(2, every(5)(minute)) },
      { 'process_start_time_seconds{unit="p"}': every(5) },
    ],
  },
};

const minutes = 60;

/** Returns promtool's input series, with the namespace for which the alerts are rendered. */
function seriesOf(given: Series) {
  return Object.entries({ ...healthy, ...given }).flatMap(([name, value]) => {
    if (value === undefined) return [];
    const values = Array.from({ length: minutes + 1 }, (_, minute) =>
      typeof value === 'number' ? value : value(minute),
    );
    return { series: name.replace('{', '{namespace="parley",'), values: values.join(' ') };
  });
}

/**
 * Returns a promtool expectation: whether exactly one alert of this name rings at a minute, or rang during the time `within` before that
 * minute.
 */
function expecting(alert: string, minute: number, isRinging: boolean, within = '1s') {
  const ringing = `ALERTS{alertname="${alert}",alertstate="firing"}`;
  return {
    expr: `count(count_over_time(${ringing}[${within}]))`,
    eval_time: `${minute}m`,
    exp_samples: isRinging ? [{ labels: '{}', value: 1 }] : [],
  };
}

alertTest('each alert rings once its threshold is exceeded for its duration, and not before', async (t) => {
  const [{ spec } = {}] = ofKind(await render('production'), 'PrometheusRule');
  const names = spec?.groups.flatMap(({ rules }) => rules.map(({ alert }) => alert)) ?? [];
  t.deepEqual(Object.keys(cases).toSorted(), [...new Set(names)].toSorted());

  const tests = Object.entries(cases).flatMap(([alert, { rings, never }]) => [
    ...rings.map(([from, given]) => ({
      name: `${alert} rings: ${Object.keys(given).join(' ')}`,
      interval: '1m',
      input_series: seriesOf(given),
      promql_expr_test: [expecting(alert, from - 1, false), expecting(alert, from, true)],
    })),
    ...never.map((given) => ({
      name: `${alert} does not ring: ${Object.keys(given).join(' ')}`,
      interval: '1m',
      input_series: seriesOf(given),
      promql_expr_test: [expecting(alert, minutes, false, `${minutes}m`)],
    })),
  ]);
  const folder = emptyFolder(t);
  const file = join(folder, 'tests.yaml');
  writeFileSync(join(folder, 'rules.yaml'), JSON.stringify(spec));
  writeFileSync(file, JSON.stringify({ rule_files: ['rules.yaml'], evaluation_interval: '1m', tests }));
  t.regex(await exec(join(tools, promtool.folder, 'promtool'), ['test', 'rules', file]), /SUCCESS/u);
});
