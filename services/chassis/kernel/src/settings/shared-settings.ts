import { z } from 'zod';
import { readNetwork } from '../http/client-network.ts';
import { rule } from '../input.ts';
import { keyRing } from '../secrets/key-ring.ts';
import { secretKeys } from '../secrets/secret-box.ts';
import { certificatesFile } from '../tls/certificates.ts';
import {
  byteCount,
  flag,
  httpUrl,
  list,
  loginUrl,
  oneOf,
  port,
  positiveInt,
  secretKey,
  someOf,
} from './setting-types.ts';
import { optionalGroup, type Setting, setting, type ValuesOf } from './settings.ts';

/** `host:port` of one broker or more, separated by commas. */
const brokers = list.refine(
  (each) => each.length > 0 && each.every((one) => /^[^\s/:]+:\d{1,5}$|^\[[\da-f:]+\]:\d{1,5}$/iu.test(one)),
  'is no list of host:port',
);
/** `redis://user:password@host:port`, or `rediss://` for TLS; a number after a slash selects a database. */
const redisUrl = loginUrl(/^rediss?$/, 'is not a redis or rediss URL')
  .refine(isDecodable, 'has a % in user or password, which is written %25')
  .refine(
    (url) => !URL.canParse(url) || /^(\/\d*)?$/u.test(new URL(url).pathname),
    'has a path, which is no number of a database',
  );
function isDecodable(url: string): boolean {
  try {
    decodeURIComponent(url);
    return true;
  } catch {
    return false;
  }
}
/** An endpoint that `fetch` calls. `fetch` refuses a URL with a user or password. */
export const fetchedUrl = httpUrl.refine(
  (url) => !URL.canParse(url) || (new URL(url).username === '' && new URL(url).password === ''),
  'has a user or password',
);
/**
 * The TLS modes of the PostgreSQL driver. libpq's `prefer` and `allow` are missing: they would continue without TLS when the server, or an
 * attacker in the server's place, refuses TLS.
 */
const sslModes = ['disable', 'require', 'verify-ca', 'verify-full', 'no-verify'];
/** The allowed values of `ssl`, a parameter that is older than `sslmode`. The driver reads any other value, even `false`, as `true`. */
const sslValues = ['true', '1', '0', 'no-verify'];
/**
 * The parameters of a database URL that the driver reads. The driver ignores all other parameters, and these parameters in another letter
 * case.
 */
const postgresParameters = [
  'user',
  'password',
  'host',
  'port',
  'ssl',
  'sslmode',
  'sslrootcert',
  'sslcert',
  'sslkey',
  'sslnegotiation',
  'uselibpqcompat',
  'application_name',
  'fallback_application_name',
  'client_encoding',
  'options',
  'replication',
  'binary',
  'statement_timeout',
  'lock_timeout',
  'idle_in_transaction_session_timeout',
  'query_timeout',
];
/**
 * Returns the problem with a parameter that the driver would read in another way than a person or the checks in this file would. The
 * problem names only known parameters, because an unknown one may be a part of a password.
 */
function parametersProblem(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined;
  const { searchParams } = new URL(url);
  for (const name of postgresParameters) {
    const spellings = [...searchParams.keys()].filter((key) => key.toLowerCase() === name);
    if (spellings.some((key) => key !== name)) return `has ${name} with capital letters, which the driver ignores`;
    if (spellings.length > 1) return `has ${name} more than once`;
  }
  if (searchParams.get('uselibpqcompat') === 'true')
    return 'has uselibpqcompat, by which sslmode=require would verify no certificate';
  const sslMode = searchParams.get('sslmode');
  if (sslMode !== null && !sslModes.includes(sslMode)) return `has another sslmode than ${inWords(sslModes)}`;
  const ssl = searchParams.get('ssl');
  if (ssl !== null && sslMode !== null) return 'has both ssl and sslmode';
  if (ssl !== null && !sslValues.includes(ssl)) return `has another ssl than ${inWords(sslValues)}`;
  return undefined;
}
function inWords(values: string[]): string {
  return `${values.slice(0, -1).join(', ')} and ${values.at(-1)}`;
}
const postgresUrl = loginUrl(/^postgres(ql)?$/, 'is not a postgres:// URL')
  .refine(isDecodable, 'has a % that begins no encoded character; % itself is written %25')
  .check(rule(parametersProblem))
  .optional();
const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

export const dataFolderSetting = setting(
  'PARLEY_DATA_DIR',
  z.string().default('.parley'),
  'The data folder of `scripts/up`: database, files, keys, log.',
);
export const serversFolderSetting = setting(
  'PARLEY_SERVERS_DIR',
  z.string().default('.parley/servers'),
  'Where `servers` keeps the data of the servers; with `up --mesh` the default is `servers` in the data folder.',
);
export const serversHostSetting = setting(
  'PARLEY_SERVERS_HOST',
  z
    .string()
    .regex(/^\d+(\.\d+){3}$/u, 'is no IPv4 address of this machine')
    .default('127.0.0.1'),
  'The address that `servers` listen on. Whoever reaches it reaches Kafka without a password: only an address of a network of this machine belongs here, e.g. that of the bridge of kind.',
);
export const meshKeySetting = setting(
  'MESH_KEY',
  secretKeys,
  'Signs the callers of calls between units. Of several, separated by commas, the first signs and all are accepted.',
  { secret: true },
);
/** The operators' key. It is separate from the mesh's key, so that no unit can act as an operator. */
export const operatorKeySetting = setting(
  'OPERATOR_KEY',
  secretKey.optional(),
  'Signs the calls of `scripts/admin`; another key than `MESH_KEY`.',
  { secret: true, without: 'operators can do nothing' },
);
const brokersMeaning = 'Kafka, as `host:port` separated by commas, by which processes share events.';
/** TLS and login of the connections to Kafka brokers. */
const kafkaConnection = {
  tls: setting('KAFKA_TLS', flag.default(false), 'Whether the brokers are reached by TLS.'),
  login: optionalGroup(
    'KAFKA_SASL_MECHANISM',
    {
      mechanism: setting(
        'KAFKA_SASL_MECHANISM',
        z
          .string()
          .toLowerCase()
          .pipe(oneOf(['plain', 'scram-sha-256', 'scram-sha-512'])),
        'How processes log in to Kafka (SASL). `plain` sends the password as it is, so it takes `KAFKA_TLS`.',
        {
          without: 'without login',
          takes: (mechanism) => (mechanism === 'plain' ? { name: 'KAFKA_TLS', value: 'true' } : undefined),
        },
      ),
      username: setting('KAFKA_USERNAME', z.string(), 'The login of Kafka.'),
      password: setting('KAFKA_PASSWORD', z.string(), 'Its password.', { secret: true }),
    },
    'KAFKA_USERNAME',
  ),
};
/** Settings of commands that do nothing without Kafka. */
export const neededKafkaSettings = {
  brokers: setting('KAFKA_BROKERS', brokers, brokersMeaning),
  ...kafkaConnection,
};
export const poolSizeSetting = setting(
  'DATABASE_POOL_SIZE',
  positiveInt.default(4),
  'Connections of each service in a process: at most 16 in all with `scripts/up`, 24 with `--mesh`. From two on, one of each is for work that has begun. A database serves about four for each of its processors best.',
);
export const logSettings = {
  level: setting(
    'LOG_LEVEL',
    z
      .enum(logLevels, 'is none of trace, debug, info, warn, error, fatal and silent')
      .default('info')
      .meta({ title: 'level' }),
    'How much is logged: `trace` to `fatal`, or `silent`.',
  ),
  file: setting('LOG_FILE', z.string().optional(), 'Where JSON log lines go.', {
    without: "standard output; with `scripts/up` the data folder's `parley.log`",
  }),
};
export const otlpProtocols = ['http/protobuf', 'http/json', 'grpc'] as const;
const samplers = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
const tracesUrl = httpUrl.optional();

/**
 * Settings that enable traces, choose a part of the SDK, or may be secret. Exporters, batches and limits read their own variables.
 */
export const tracingSettings = {
  endpoint: setting(
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    tracesUrl,
    'Turns traces on. Other `OTEL_*` variables of exporters, batches and limits count for traces as OpenTelemetry defines them.',
  ),
  tracesEndpoint: setting(
    'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    tracesUrl,
    'Turns traces on: the whole address, without `/v1/traces` added to it.',
  ),
  exporters: setting(
    'OTEL_TRACES_EXPORTER',
    someOf(['otlp', 'console', 'none']).optional(),
    'Turns traces on, or with `none` off: `otlp`, `console` or both. For Zipkin, send `otlp` to a collector.',
    { without: '`otlp`, where there is an endpoint' },
  ),
  protocol: setting(
    'OTEL_EXPORTER_OTLP_PROTOCOL',
    oneOf(otlpProtocols).default('http/protobuf'),
    'How `otlp` is sent.',
  ),
  tracesProtocol: setting(
    'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL',
    oneOf(otlpProtocols).optional(),
    'The same, for traces alone.',
    { without: '`OTEL_EXPORTER_OTLP_PROTOCOL`' },
  ),
  headers: setting(
    'OTEL_EXPORTER_OTLP_HEADERS',
    z.string().optional(),
    'Headers sent with `otlp`, such as a credential of the collector: `name=value`, separated by commas.',
    { secret: true },
  ),
  tracesHeaders: setting(
    'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
    z.string().optional(),
    'The same, for traces alone; they are sent besides.',
    { secret: true },
  ),
  serviceName: setting(
    'OTEL_SERVICE_NAME',
    z.string().optional(),
    'The name of the process in traces; goes before `service.name` of `OTEL_RESOURCE_ATTRIBUTES`.',
    { without: '`parley`' },
  ),
  sampler: setting(
    'OTEL_TRACES_SAMPLER',
    oneOf(samplers, 'sampler').default('parentbased_always_on'),
    `Which traces are recorded: ${samplers.map((each) => `\`${each}\``).join(', ')}.`,
  ),
  sampledRatio: setting(
    'OTEL_TRACES_SAMPLER_ARG',
    z
      .string()
      .regex(/\S/u, 'is not a number')
      .transform(Number)
      .pipe(z.number('is not a number').min(0).max(1))
      .default(1)
      .meta({ title: 'number' }),
    'The part of all traces that `traceidratio` records, from 0 to 1.',
  ),
  propagators: setting(
    'OTEL_PROPAGATORS',
    someOf(['tracecontext', 'baggage', 'none']).default(['tracecontext', 'baggage']),
    'How units tell each other the trace of a call. Events and jobs keep only `tracecontext`.',
  ),
  isDisabled: setting(
    'OTEL_SDK_DISABLED',
    z.string().toLowerCase().pipe(flag).default(false).meta({ title: 'true | false' }),
    'Turns traces off, whatever else is set.',
  ),
};

/** Settings of every process, whether it runs one unit or all units. */
const everyProcessSettings = {
  nodeEnv: setting(
    'NODE_ENV',
    z
      .enum(['production', 'development', 'test'], 'is none of production, development and test')
      .optional()
      .meta({ title: 'production | development | test' }),
    '`production`: a database, Redis, Kafka or S3 that is used and missing is an error; no introspection or reflection.',
    { without: '`development`' },
  ),
  meshKey: meshKeySetting,
  extraCaCerts: setting(
    'NODE_EXTRA_CA_CERTS',
    certificatesFile.optional(),
    'Private certificate authorities, in PEM, which are trusted besides the public ones: for the database, Redis, Kafka, S3, mail, traces and all else that is called by TLS. Read when a process starts.',
    { without: 'public ones alone' },
  ),
  redisUrl: setting(
    'REDIS_URL',
    redisUrl.optional(),
    'Redis 7, which processes share for counters, announcements and live events; `rediss://` for TLS.',
    { secret: true, without: 'in memory', requiredInProduction: true },
  ),
  eventLogMaxBytes: setting(
    'EVENT_LOG_MAX_BYTES',
    byteCount.default(268_435_456),
    "Bytes of a process's memory that live events take without Redis; beyond, the oldest are dropped first.",
  ),
  log: logSettings,
  tracing: tracingSettings,
};

/** Additional settings of a service process that publishes or consumes events. */
export const eventSettings = {
  kafka: {
    brokers: setting('KAFKA_BROKERS', brokers.optional(), brokersMeaning, {
      without: 'in process',
      requiredInProduction: true,
    }),
    ...kafkaConnection,
    stalledAfterMs: setting(
      'KAFKA_STALLED_AFTER_MS',
      positiveInt.default(60_000),
      'After how long without a heartbeat, or without progress, a consumer is restarted.',
    ),
  },
};

/** Additional settings of a service process that stores files. */
export const fileSettings = {
  s3: optionalGroup('S3_ENDPOINT', {
    endpoint: setting('S3_ENDPOINT', fetchedUrl, 'The S3 service that stores files.', {
      without: 'files',
      requiredInProduction: true,
    }),
    publicEndpoint: setting(
      'S3_PUBLIC_ENDPOINT',
      fetchedUrl.optional(),
      'Where clients reach it: signed URLs begin with it.',
      { without: '`S3_ENDPOINT`' },
    ),
    bucket: setting('S3_BUCKET', z.string(), 'The bucket, which exists already and lets browsers PUT and GET (CORS).'),
    region: setting('S3_REGION', z.string().default('us-east-1'), 'Its region.'),
    accessKeyId: setting('S3_ACCESS_KEY_ID', z.string(), 'The login that may read, write, delete and list in it.'),
    secretAccessKey: setting('S3_SECRET_ACCESS_KEY', z.string(), 'Its secret.', { secret: true }),
  }),
};

/** Settings of one process with all units. */
export const processSettings = {
  ...everyProcessSettings,
  databasePoolSize: poolSizeSetting,
  ...eventSettings,
  ...fileSettings,
};

/** Settings by which a unit's own process reaches other units. */
export const meshSettings = {
  lookupIntervalMs: setting(
    'MESH_LOOKUP_INTERVAL_MS',
    positiveInt.default(10_000),
    'How often the name of a unit is looked up again by those that call it, so that added processes of it get calls.',
  ),
  tls: {
    certFile: setting(
      'MESH_TLS_CERT_FILE',
      z.string().optional().meta({ title: 'file' }),
      'Encrypts calls between units (mTLS): the certificate of the process, in PEM, with those that lead to its authority. Its names are those by which other units call it. Replaced files count within 10 s, for new connections.',
      { without: 'calls between units are not encrypted' },
    ),
    keyFile: setting('MESH_TLS_KEY_FILE', z.string().optional().meta({ title: 'file' }), 'Its private key, in PEM.', {
      required: 'with MESH_TLS_CERT_FILE',
    }),
    caFile: setting(
      'MESH_TLS_CA_FILE',
      z.string().optional().meta({ title: 'file' }),
      'The authorities of which other units have certificates, in PEM. Whoever has one of them may connect, so they are to sign for nothing else.',
      { required: 'with MESH_TLS_CERT_FILE' },
    ),
  },
};

export const unitProcessSettings = {
  ...everyProcessSettings,
  mesh: meshSettings,
  host: setting('PARLEY_HOST', z.string().default('127.0.0.1'), 'The address that the servers of a unit listen on.'),
};

/** Returns the database settings of a service. The service's own settings override the shared ones. */
export function databaseSettings(service: string) {
  const prefix = service.toUpperCase();
  return {
    shared: {
      url: setting(
        'DATABASE_URL',
        postgresUrl,
        'PostgreSQL 15 or newer with pgvector, by TLS with `?sslmode=verify-full`; `<SERVICE>_DATABASE_URL` for one service.',
        { secret: true, without: 'with `scripts/up` PGlite', required: `without \`${prefix}_DATABASE_URL\`` },
      ),
      migrationsUrl: setting(
        'MIGRATIONS_DATABASE_URL',
        postgresUrl,
        'The login that owns the schemas, where it is another one; `<SERVICE>_MIGRATIONS_DATABASE_URL` for one service.',
        { secret: true, without: '`DATABASE_URL`' },
      ),
    },
    own: {
      url: setting(`${prefix}_DATABASE_URL`, postgresUrl, 'PostgreSQL, where it has one of its own.', {
        secret: true,
        without: '`DATABASE_URL`',
      }),
      migrationsUrl: setting(
        `${prefix}_MIGRATIONS_DATABASE_URL`,
        postgresUrl,
        'The login that owns its schema, where it is another one.',
        { secret: true, without: '`MIGRATIONS_DATABASE_URL`' },
      ),
    },
  };
}

type PortKind = 'rpc' | 'graph' | 'ops';
const portMeanings: Record<PortKind, string> = {
  rpc: 'Where other units call it by gRPC; 0 takes any free port.',
  graph: 'Where the gateway reaches its subgraph; 0 takes any free port.',
  ops: 'Liveness, readiness and metrics: `/healthz`, `/readyz`, `/metrics`; 0 takes any free port.',
};

/** Returns the name of the setting with a unit's port, e.g. `SESSION_RPC_PORT`. */
export function portName(unit: string, kind: string): string {
  return `${unit.toUpperCase()}_${kind.toUpperCase()}_PORT`;
}

/** Returns the port settings of a unit, e.g. `SESSION_RPC_PORT` as `rpcPort`. */
export function portSettings<Kind extends PortKind>(
  unit: string,
  kinds: Kind[],
): { [K in Kind as `${K}Port`]: Setting<number> } {
  const settings = kinds.map((kind) => [
    `${kind}Port`,
    setting(portName(unit, kind), port.default(0), portMeanings[kind]),
  ]);
  return Object.fromEntries(settings);
}

/** The public address of the installation, without a slash at its end. */
export const publicUrlSetting = setting(
  'PARLEY_PUBLIC_URL',
  httpUrl.default('http://localhost:4000').transform((url) => url.replace(/\/$/, '')),
  'The address that clients know; issuer and audience of access tokens, so the same for gateway and identity.',
);

/** The public address of the voice service, without a slash at its end. */
export const voicePublicUrlSetting = setting(
  'VOICE_PUBLIC_URL',
  httpUrl.default('http://localhost:4100').transform((url) => url.replace(/\/$/, '')),
  'The address of the voice service that clients know (`avatarServiceUrl` of `sdkStart`).',
);

/** The keys of session tokens. The gateway verifies the tokens with them, and some services issue tokens. */
export const avatarTokenKeysSetting = setting(
  'AVATAR_TOKEN_KEYS',
  keyRing,
  'The ring of keys that session tokens are signed and verified with, as `k1:base64,…`; the first one signs.',
  { secret: true },
);

/** A setting for servers that pages of other sites call. */
export const corsOriginsSetting = setting(
  'CORS_ORIGINS',
  list.default(['*']),
  'Origins that browsers may call from, separated by commas; `*` for any.',
  { productionDefault: [] },
);

/** A setting for servers that limit clients by their address. */
export const trustedProxiesSetting = setting(
  'TRUSTED_PROXIES',
  list.refine(areNetworks, 'is not a list of addresses or CIDRs').default([]),
  'Proxies whose `X-Forwarded-For` is trusted, as addresses or CIDRs.',
  { without: 'none' },
);

function areNetworks(values: string[]): boolean {
  try {
    values.map(readNetwork);
    return true;
  } catch {
    return false;
  }
}

/** Keys that encrypt or sign stored data. The first key is used for new data. */
export const secretsKeysSetting = setting(
  'SECRETS_KEYS',
  secretKeys,
  'Keys at rest, 32 bytes or more in base64, separated by commas, `name:` before each if you like; the first one encrypts. Without them nothing that is encrypted can be read.',
  { secret: true },
);

/** Session and agent share this setting, so that every turn can make its model call. */
export const turnsAtOnceSetting = setting(
  'SESSION_TURNS_AT_ONCE',
  positiveInt.default(200),
  'Turns at once in one process of session, and calls of one model provider at once in one process of agent; more wait, fairly by tenant.',
);

const hostName = /^(?=.{1,253}$)[a-z\d_]([a-z\d_-]*[a-z\d_])?(\.[a-z\d_]([a-z\d_-]*[a-z\d_])?)*$/u;

function isHostOrNetwork(text: string): boolean {
  try {
    readNetwork(text);
    return true;
  } catch {
    return hostName.test(text) && !/^[\d.]+$/u.test(text);
  }
}

function isPortRange(text: string): boolean {
  const [from = 0, to = from] = text.split('-').map(Number);
  return /^\d{1,5}(-\d{1,5})?$/u.test(text) && from >= 1 && from <= to && to <= 65_535;
}

/** Settings of the outbound guard, for every unit that calls URLs of tenants. */
export const outboundSettings = {
  allowlist: setting(
    'OUTBOUND_ALLOWLIST',
    list
      .transform((entries) => entries.map((entry) => entry.toLowerCase()))
      .refine((entries) => entries.every(isHostOrNetwork), 'is not a list of host names, addresses or CIDRs')
      .default([]),
    'Hosts, addresses or CIDRs that URLs of tenants may reach although they are not public, separated by commas. Every tenant may then call them.',
    { without: 'none' },
  ),
  ports: setting(
    'OUTBOUND_PORTS',
    list
      .refine(
        (ranges) => ranges.length > 0 && ranges.every(isPortRange),
        'is not a list of ports or ranges such as 8000-8999',
      )
      .default(['80', '443', '8080', '8443']),
    'Ports that URLs of tenants may name, separated by commas; `8000-8999` is a range.',
  ),
};

const headerValue = z.string().regex(/^[\x21-\x7e]+$/u, 'is not printable ASCII without spaces');

const idpOne = {
  url: setting(
    'IDP_ONE_URL',
    fetchedUrl,
    'Base URL of the external identity provider IDP_ONE. Below it, tickets are exchanged at `/tickets/exchange` and tokens of products are issued at `/products/<product>/token`.',
    { without: 'nobody signs in with it' },
  ),
  clientId: setting('IDP_ONE_CLIENT_ID', headerValue, 'Sent to it as `X-Client-Id`.'),
  clientSecret: setting('IDP_ONE_CLIENT_SECRET', headerValue, 'Sent to it as `X-Client-Secret`.', { secret: true }),
  timeoutMs: setting(
    'IDP_ONE_TIMEOUT_MS',
    positiveInt.default(5_000),
    'How long an exchange may take, the wait for its turn included.',
  ),
};

export type IdpOneSettings = ValuesOf<typeof idpOne>;

/** Settings of the external identity provider, for every unit that calls it. */
export const idpOneSettings = optionalGroup('IDP_ONE_URL', idpOne);
