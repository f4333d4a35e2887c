/** A panel that plots one or more Prometheus queries. */
interface Panel {
  title: string;
  /** One of Grafana's units, such as `s`, `short`, `percentunit`. */
  unit: string;
  /** The legend for the series of each query; the key is the query. */
  queries: Record<string, string>;
  /** Advice for operators if the panel looks wrong. */
  description: string;
}

export interface Dashboard {
  title: string;
  /** Whether the dashboard shows the selected unit instead of all units. */
  isOfUnit?: boolean;
  panels: Panel[];
}

/** The label that selects the viewed installation. */
export const here = 'namespace="$namespace"';
const ofUnit = `${here}, unit="$unit"`;
const rate = (metric: string, labels = here) => `rate(${metric}{${labels}}[$__rate_interval])`;
const increase = (metric: string) => `increase(${metric}{${here}}[30m])`;
const spendIn = (range: string) =>
  ['agent', 'knowledge'].map((unit) => `increase(parley_${unit}_spend_usd_total{${here}}[${range}])`).join(' or ');
const quantile = (q: number, metric: string, by: string, labels = here) =>
  `histogram_quantile(${q}, sum by (le, ${by}) (${rate(`${metric}_bucket`, labels)}))`;
const meanOf = (metric: string, by: string, labels = here) =>
  `sum by (${by}) (${rate(`${metric}_sum`, labels)}) / sum by (${by}) (${rate(`${metric}_count`, labels)})`;

const graph = 'parley_graph_duration_seconds';
const rpc = 'parley_rpc_duration_seconds';
const model = 'gen_ai_client_operation_duration_seconds';
/** Both labels are needed, because the model name `other` covers chat models and embedding models. */
const asked = 'gen_ai_operation_name, gen_ai_request_model';
const atGateway = `${here}, unit="gateway"`;

const spendOfMonth = {
  [`max(parley_spend_month_usd{${here}})`]: 'spent and reserved',
  [`max(parley_spend_ceiling_usd{${here}} < Inf)`]: 'ceiling',
};

/** The content of the chart's dashboards by name. */
export const dashboards: Record<string, Dashboard> = {
  overview: {
    title: 'Parley: overview',
    panels: [
      {
        title: 'Processes',
        unit: 'short',
        queries: {
          [`sum by (unit) (parley_ready{${here}})`]: '{{unit}} ready',
          [`count by (unit) (parley_ready{${here}} == 0)`]: '{{unit}} not ready',
        },
        description: 'Those whose metrics are read. /readyz and the log of one that is not ready name what it lacks.',
      },
      {
        title: 'Operations of clients',
        unit: 'reqps',
        queries: { [`sum by (outcome) (${rate(`${graph}_count`, atGateway)})`]: '{{outcome}}' },
        description: '`error` are failures of ours, `refused` are bad input, wrong credentials and limits.',
      },
      {
        title: 'Operations that fail',
        unit: 'reqps',
        queries: {
          [`sum by (operation) (${rate(`${graph}_count`, `${atGateway}, outcome="error"`)}) > 0`]: '{{operation}}',
        },
        description: 'Read the log of the gateway for the operation, then that of the unit that answers it.',
      },
      {
        title: 'Time of operations, p95',
        unit: 's',
        queries: { [`topk(10, ${quantile(0.95, graph, 'operation', atGateway)})`]: '{{operation}}' },
        description: 'The ten slowest. Those that wait for a model take as long as the model.',
      },
      {
        title: 'First words of a reply',
        unit: 's',
        queries: {
          [quantile(0.5, 'parley_session_first_chunk_seconds', 'unit')]: 'p50',
          [quantile(0.95, 'parley_session_first_chunk_seconds', 'unit')]: 'p95',
        },
        description:
          "From the message to the reply's first chunk. Compare with the model's own on the dashboard of conversations.",
      },
      {
        title: 'Turns',
        unit: 'short',
        queries: {
          [`sum(parley_session_turns_running{${here}})`]: 'running',
          [`max(parley_jobs{${here},kind="session.turn",state="waiting"})`]: 'waiting',
        },
        description:
          'Turns that wait while few run: a model provider is slow or kept out. Else raise maxReplicas of session and agent.',
      },
      {
        title: 'Requests and calls that wait at gateways',
        unit: 'short',
        queries: {
          [`sum(parley_requests_waiting{${here}})`]: 'requests',
          [`sum(parley_subgraph_calls_waiting{${here}})`]: 'calls of subgraphs',
          [`sum(parley_credential_checks_waiting{${here}})`]: 'checks of credentials',
          [`sum(parley_subscriptions_waiting{${here}})`]: 'subscriptions',
          [`sum(parley_replayed_events_waiting{${here}})`]: 'replayed events',
        },
        description: 'What waits is served fairly by tenant. If it stays, a unit behind is slow: see its dashboard.',
      },
      {
        title: 'Oldest event that is not published',
        unit: 's',
        queries: { [`max by (unit) (parley_outbox_oldest_seconds{${here}})`]: '{{unit}}' },
        description: 'Kafka does not take events. They are kept in the database and follow by themselves.',
      },
      {
        title: 'Events that wait for a consumer',
        unit: 'short',
        queries: { [`sum by (unit) (parley_consumer_lag{${here}})`]: '{{unit}}' },
        description: 'Read its log for events that fail; if there are none, raise its maxReplicas.',
      },
      {
        title: 'Partitions that consumers hold',
        unit: 'short',
        queries: { [`sum by (unit, topic) (parley_consumer_partitions{${here}})`]: '{{unit}} {{topic}}' },
        description: 'At 0 nobody reads the topic, and what waits there is not counted: see the brokers and its log.',
      },
      {
        title: 'Delay of event loops, p99',
        unit: 's',
        queries: { [`max by (unit) (nodejs_eventloop_lag_p99_seconds{${here}})`]: '{{unit}}' },
        description: 'The worst process of each unit. Idle ones have 0.02 s; above 0.1 s it has too little CPU.',
      },
      {
        title: 'Models that do not answer',
        unit: 'short',
        queries: {
          [`max by (gen_ai_provider_name, gen_ai_request_model) (parley_agent_model_kept_out{${here}})`]:
            '{{gen_ai_provider_name}} {{gen_ai_request_model}}',
        },
        description: 'They failed or limit requests; fallbacks answer. Check status, key and quota at the provider.',
      },
      {
        title: 'Throttles without Redis',
        unit: 'reqps',
        queries: { [`sum(${rate('parley_throttle_degraded_total')})`]: 'requests' },
        description: 'Gateways count requests alone, because Redis does not answer.',
      },
      {
        title: 'Jobs that fail, and events that were given up',
        unit: 'short',
        queries: {
          [`sum by (unit, kind, outcome) (${increase('parley_job_failures_total')}) > 0`]: '{{kind}} {{outcome}}',
          [`sum by (unit) (${increase('parley_events_given_up_total')}) > 0`]: 'events of {{unit}}',
        },
        description: 'In 30 minutes. `retried` jobs go on by themselves; `given_up` ones and dead letters are yours.',
      },
      {
        title: 'Transactions that wait for a connection',
        unit: 'short',
        queries: { [`sum by (unit) (parley_database_transactions_waiting{${here}})`]: '{{unit}}' },
        description: 'The database is slow, or DATABASE_POOL_SIZE is small for what it can do.',
      },
      {
        title: 'Calls of models that fail',
        unit: 'reqps',
        queries: {
          [`sum by (${asked}, error_type) (${rate(`${model}_count`, `${here}, error_type!~"|cancelled"`)})`]:
            '{{gen_ai_operation_name}} {{gen_ai_request_model}} {{error_type}}',
        },
        description: 'By what the provider did. Fallbacks answer where there are any.',
      },
      {
        title: 'Spend of this month',
        unit: 'currencyUSD',
        queries: spendOfMonth,
        description: 'At the ceiling calls of models are refused. Without one there is no line.',
      },
    ],
  },
  unit: {
    title: 'Parley: one unit',
    isOfUnit: true,
    panels: [
      {
        title: 'gRPC calls that it serves',
        unit: 'reqps',
        queries: { [`sum by (outcome) (${rate(`${rpc}_count`, ofUnit)})`]: '{{outcome}}' },
        description: '`error` are failures of ours, `refused` those of callers.',
      },
      {
        title: 'Time of gRPC calls, p95',
        unit: 's',
        queries: { [`topk(10, ${quantile(0.95, rpc, 'method', ofUnit)})`]: '{{method}}' },
        description: 'The ten slowest methods. Streams last as long as they are followed.',
      },
      {
        title: 'GraphQL fields that it serves',
        unit: 'reqps',
        queries: { [`sum by (operation, outcome) (${rate(`${graph}_count`, ofUnit)})`]: '{{operation}} {{outcome}}' },
        description: 'Of a subgraph, or of the gateway as a whole.',
      },
      {
        title: 'Time of GraphQL fields, p95',
        unit: 's',
        queries: { [`topk(10, ${quantile(0.95, graph, 'operation', ofUnit)})`]: '{{operation}}' },
        description: 'Compare with that of the gateway: the difference is the way there.',
      },
      {
        title: 'CPU',
        unit: 'percentunit',
        queries: { [rate('process_cpu_seconds_total', ofUnit)]: '{{pod}}' },
        description: 'Of one core, by process. JavaScript uses one.',
      },
      {
        title: 'Memory',
        unit: 'bytes',
        queries: {
          [`process_resident_memory_bytes{${ofUnit}}`]: '{{pod}}',
          [`nodejs_heap_size_used_bytes{${ofUnit}}`]: '{{pod}} heap',
          [`nodejs_external_memory_bytes{${ofUnit}}`]: '{{pod}} buffers',
        },
        description: 'Above its limit a process is killed.',
      },
      {
        title: 'Delay of the event loop',
        unit: 's',
        queries: {
          [`nodejs_eventloop_lag_p50_seconds{${ofUnit}}`]: '{{pod}} p50',
          [`nodejs_eventloop_lag_p99_seconds{${ofUnit}}`]: '{{pod}} p99',
        },
        description: 'How long everything else waits for what runs.',
      },
      {
        title: 'Garbage collection',
        unit: 'percentunit',
        queries: { [`sum by (kind) (${rate('nodejs_gc_duration_seconds_sum', ofUnit)})`]: '{{kind}}' },
        description: 'The part of the time that goes into it. Much of `major` means too little memory.',
      },
      {
        title: 'Database connections',
        unit: 'short',
        queries: {
          [`parley_database_connections_used{${ofUnit}}`]: '{{pod}} used',
          [`parley_database_transactions_waiting{${ofUnit}}`]: '{{pod}} waiting',
        },
        description: 'Transactions that wait: the database is slow, or DATABASE_POOL_SIZE is small for what it can do.',
      },
      {
        title: 'Jobs that are due',
        unit: 'short',
        queries: { [`max by (kind, state) (parley_jobs{${ofUnit}})`]: '{{kind}} {{state}}' },
        description: 'Of all its processes. Many that wait for long: raise its autoscaling.maxReplicas.',
      },
      {
        title: 'Jobs that fail',
        unit: 'short',
        queries: {
          [`sum by (kind, outcome) (increase(parley_job_failures_total{${ofUnit}}[30m]))`]: '{{kind}} {{outcome}}',
        },
        description: 'In 30 minutes; the log has the reasons.',
      },
      {
        title: 'Starts of its processes',
        unit: 'short',
        queries: { [`sum by (pod) (changes(process_start_time_seconds{${ofUnit}}[30m]))`]: '{{pod}}' },
        description: 'Anew in the same pod, in 30 minutes: it failed or had too little memory.',
      },
      {
        title: 'Open files and sockets',
        unit: 'short',
        queries: { [`process_open_fds{${ofUnit}}`]: '{{pod}}', [`process_max_fds{${ofUnit}}`]: '{{pod}} at most' },
        description: 'Of a gateway mostly sockets of clients.',
      },
    ],
  },
  conversations: {
    title: 'Parley: conversations',
    panels: [
      {
        title: 'Messages and sessions',
        unit: 'reqps',
        queries: {
          [`sum by (operation) (${rate(`${graph}_count`, `${atGateway}, operation=~"startSession|sendMessage|endSession"`)})`]:
            '{{operation}}',
        },
        description: 'As clients ask for them.',
      },
      {
        title: 'First words of a reply, and those of models',
        unit: 's',
        queries: {
          [quantile(0.5, 'parley_session_first_chunk_seconds', 'unit')]: 'reply p50',
          [quantile(0.95, 'parley_session_first_chunk_seconds', 'unit')]: 'reply p95',
          [quantile(0.5, 'gen_ai_client_operation_time_to_first_chunk_seconds', 'gen_ai_request_model')]:
            '{{gen_ai_request_model}} p50',
        },
        description: 'The distance between both is ours.',
      },
      {
        title: 'Calls of models',
        unit: 'reqps',
        queries: {
          [`sum by (gen_ai_provider_name, gen_ai_request_model) (${rate(`${model}_count`)})`]:
            '{{gen_ai_provider_name}} {{gen_ai_request_model}}',
        },
        description: 'By who was asked.',
      },
      {
        title: 'Time of calls of models',
        unit: 's',
        queries: { [meanOf(model, asked)]: '{{gen_ai_operation_name}} {{gen_ai_request_model}}' },
        description: 'The mean.',
      },
      {
        title: 'Calls of models that wait',
        unit: 'short',
        queries: { [`sum(parley_agent_model_calls_waiting{${here}})`]: 'waiting' },
        description: 'For one of SESSION_TURNS_AT_ONCE places of a provider.',
      },
      {
        title: 'Replies by a fallback',
        unit: 'reqps',
        queries: { [`sum by (from, to) (${rate('parley_agent_model_fallbacks_total')})`]: '{{from}} to {{to}}' },
        description: 'The first choice could not answer.',
      },
      {
        title: 'Evaluations and texts being made',
        unit: 'short',
        queries: {
          [`sum(parley_judgements_running{${here}})`]: 'evaluations',
          [`sum(parley_agent_text_generations_running{${here}})`]: 'texts',
        },
        description: 'Under way.',
      },
      {
        title: 'Calls of tools and custom actions',
        unit: 'reqps',
        queries: {
          [`sum by (kind, error) (${rate('parley_action_call_duration_seconds_count')})`]: '{{kind}} {{error}}',
        },
        description:
          'By how they ended, `none` without an error. Most errors are the servers of tenants, who see them in outboundCalls.',
      },
      {
        title: 'Time of tools and custom actions',
        unit: 's',
        queries: {
          [quantile(0.5, 'parley_action_call_duration_seconds', 'kind')]: '{{kind}} p50',
          [quantile(0.95, 'parley_action_call_duration_seconds', 'kind')]: '{{kind}} p95',
        },
        description: 'As long as the servers of tenants take, 30 s at most.',
      },
      {
        title: 'Calls of tools and custom actions that wait',
        unit: 'short',
        queries: { [`sum(parley_action_calls_waiting{${here}})`]: 'waiting' },
        description:
          'For ACTION_CALLS_AT_ONCE, or for the share of their tenant or target. If it stays, raise maxReplicas of action.',
      },
      {
        title: 'Exports',
        unit: 'reqps',
        queries: { [`sum by (outcome) (${rate('parley_exports_total')})`]: '{{outcome}}' },
        description: 'Study kits that have ended. `failed` and `fallback` have their reason in the log of export.',
      },
      {
        title: 'Time to render an export',
        unit: 's',
        queries: {
          [quantile(0.5, 'parley_export_render_seconds', 'unit')]: 'p50',
          [quantile(0.95, 'parley_export_render_seconds', 'unit')]: 'p95',
        },
        description: 'In its own process, its start included.',
      },
      {
        title: 'Speech, transcription and avatars',
        unit: 'reqps',
        queries: {
          [`sum by (route, outcome) (${rate('parley_voice_request_seconds_count')})`]: '{{route}} {{outcome}}',
        },
        description: 'Requests that voice answered. Those with `error` have their reason in its log.',
      },
      {
        title: 'Time of providers of speech',
        unit: 's',
        queries: {
          [quantile(0.5, 'parley_voice_provider_seconds', 'what')]: '{{what}} p50',
          [quantile(0.95, 'parley_voice_provider_seconds', 'what')]: '{{what}} p95',
        },
        description:
          'Of eSpeak NG too. Raise VOICE_ESPEAK_PROCESSES, or maxReplicas of voice, where it is short of processors.',
      },
      {
        title: 'Webhooks with evaluations',
        unit: 'reqps',
        queries: { [`sum by (outcome) (${rate('parley_session_sync_total')})`]: '{{outcome}}' },
        description:
          'Attempts by how they ended, and webhooks that were given up. Receivers are systems of tenants, who see why in externalSyncDeliveries.',
      },
      {
        title: 'Documents',
        unit: 'short',
        queries: {
          [`sum(parley_parser_documents_running{${here}})`]: 'being read',
          [`sum(parley_knowledge_indexing{${here}})`]: 'being embedded',
          [`sum(parley_knowledge_bases_moving{${here}})`]: 'bases moving to another model',
        },
        description: 'Under way.',
      },
      {
        title: 'Documents read, by outcome',
        unit: 'reqps',
        queries: { [`sum by (type, outcome) (${rate('parley_parser_documents_total')})`]: '{{type}} {{outcome}}' },
        description: 'Whatever is not `parsed` has its reason in the log of parser.',
      },
      {
        title: 'Losses of documents, by kind',
        unit: 'reqps',
        queries: { [`sum by (type, kind) (${rate('parley_parser_losses_total')})`]: '{{type}} {{kind}}' },
        description: 'What the texts of documents do not hold of their files: tenants see it in `parseWarnings`.',
      },
    ],
  },
  money: {
    title: 'Parley: money',
    panels: [
      {
        title: 'Spend of this month, and its ceiling',
        unit: 'currencyUSD',
        queries: spendOfMonth,
        description:
          'Of all tenants (UTC), reserved included. At PLATFORM_MONTHLY_CEILING_USD calls of models are refused.',
      },
      {
        title: 'Spend in an hour, by model',
        unit: 'currencyUSD',
        queries: {
          [`sum by (gen_ai_provider_name, gen_ai_request_model) (${spendIn('1h')})`]:
            '{{gen_ai_provider_name}} {{gen_ai_request_model}}',
        },
        description: 'What calls of models have cost by the price table. What each tenant owes: scripts/admin usage.',
      },
      {
        title: 'Spend in an hour, by operation',
        unit: 'currencyUSD',
        queries: { [`sum by (operation) (${spendIn('1h')})`]: '{{operation}}' },
        description: 'Conversations, evaluations, single texts and embeddings.',
      },
      {
        title: 'Spend of the last 24 hours',
        unit: 'currencyUSD',
        queries: { [`sum(${spendIn('24h')})`]: 'USD' },
        description: 'Of all tenants.',
      },
      {
        title: 'Tokens of a call',
        unit: 'short',
        queries: {
          [meanOf('gen_ai_client_token_usage', `${asked}, gen_ai_token_type`)]:
            '{{gen_ai_operation_name}} {{gen_ai_request_model}} {{gen_ai_token_type}}',
        },
        description: 'The mean, as providers count them.',
      },
      {
        title: 'Tokens in a second',
        unit: 'short',
        queries: {
          [`sum by (${asked}, gen_ai_token_type) (${rate('gen_ai_client_token_usage_sum')})`]:
            '{{gen_ai_operation_name}} {{gen_ai_request_model}} {{gen_ai_token_type}}',
        },
        description: 'By model.',
      },
    ],
  },
};
