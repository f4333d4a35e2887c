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
  'Folder in which `scripts/servers` keeps the data of the servers; with `scripts/up --mesh` the default is `servers` in the data folder.',
);
export const serversHostSetting = setting(
  'PARLEY_SERVERS_HOST',
  z
    .string()
    .regex(/^\d+(\.\d+){3}$/u, 'is no IPv4 address of this machine')
    .default('127.0.0.1'),
  'Address that the servers of `scripts/servers` listen on. Every client that reaches this address can use Kafka without a password. So use only an address of a network inside this machine, e.g. the address of the bridge of kind.',
);
export const meshKeySetting = setting(
  'MESH_KEY',
  secretKeys,
  'Keys that sign the caller of each call between units, separated by commas. The first key signs; all keys are accepted.',
  { secret: true },
);
/** The operators' key. It is separate from the mesh's key, so that no unit can act as an operator. */
export const operatorKeySetting = setting(
  'OPERATOR_KEY',
  secretKey.optional(),
  'Key that signs the calls of `scripts/admin`. Must differ from `MESH_KEY`.',
  { secret: true, without: '`scripts/admin` cannot be used' },
);
const brokersMeaning = 'Kafka brokers through which processes share events, as `host:port` separated by commas.';
/** TLS and login of the connections to Kafka brokers. */
const kafkaConnection = {
  tls: setting('KAFKA_TLS', flag.default(false), 'Whether processes connect to the Kafka brokers by TLS.'),
  login: optionalGroup(
    'KAFKA_SASL_MECHANISM',
    {
      mechanism: setting(
        'KAFKA_SASL_MECHANISM',
        z
          .string()
          .toLowerCase()
          .pipe(oneOf(['plain', 'scram-sha-256', 'scram-sha-512'])),
        'SASL mechanism of the Kafka login: `plain`, `scram-sha-256` or `scram-sha-512`. `plain` sends the password itself, so `plain` requires `KAFKA_TLS=true`.',
        {
          without: 'no login',
          takes: (mechanism) => (mechanism === 'plain' ? { name: 'KAFKA_TLS', value: 'true' } : undefined),
        },
      ),
      username: setting('KAFKA_USERNAME', z.string(), 'User name of the Kafka login.'),
      password: setting('KAFKA_PASSWORD', z.string(), 'Password of the Kafka login.', { secret: true }),
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
  'Maximum number of database connections of each service in one process. From 2 on, one connection is reserved for work that has already begun. A database works best with about four connections for each of its processors.',
);
export const logSettings = {
  level: setting(
    'LOG_LEVEL',
    z
      .enum(logLevels, 'is none of trace, debug, info, warn, error, fatal and silent')
      .default('info')
      .meta({ title: 'level' }),
    'Least severe level that is logged: `trace`, `debug`, `info`, `warn`, `error` or `fatal`. `silent` turns logs off.',
  ),
  file: setting('LOG_FILE', z.string().optional(), 'File that JSON log lines are written to.', {
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
    'Base URL of the OpenTelemetry collector; turns traces on. Other `OTEL_*` variables for exporters, batches and limits apply to traces as OpenTelemetry defines them.',
  ),
  tracesEndpoint: setting(
    'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    tracesUrl,
    'Full URL of the OpenTelemetry collector for traces; turns traces on. `/v1/traces` is not added to this URL.',
  ),
  exporters: setting(
    'OTEL_TRACES_EXPORTER',
    someOf(['otlp', 'console', 'none']).optional(),
    'Exporters of traces. `otlp`, `console` or both turn traces on; `none` turns traces off. For Zipkin, send `otlp` to a collector.',
    { without: '`otlp`, if an OTLP endpoint is set' },
  ),
  protocol: setting(
    'OTEL_EXPORTER_OTLP_PROTOCOL',
    oneOf(otlpProtocols).default('http/protobuf'),
    'Protocol of the `otlp` exporter.',
  ),
  tracesProtocol: setting(
    'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL',
    oneOf(otlpProtocols).optional(),
    'Protocol of the `otlp` exporter for traces. Overrides `OTEL_EXPORTER_OTLP_PROTOCOL`.',
    { without: '`OTEL_EXPORTER_OTLP_PROTOCOL`' },
  ),
  headers: setting(
    'OTEL_EXPORTER_OTLP_HEADERS',
    z.string().optional(),
    'Headers of each request of the `otlp` exporter, such as a credential for the collector: `name=value`, separated by commas.',
    { secret: true },
  ),
  tracesHeaders: setting(
    'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
    z.string().optional(),
    'Headers of the `otlp` exporter for traces, in addition to those of `OTEL_EXPORTER_OTLP_HEADERS`: `name=value`, separated by commas.',
    { secret: true },
  ),
  serviceName: setting(
    'OTEL_SERVICE_NAME',
    z.string().optional(),
    'Name of the process in traces. Overrides `service.name` in `OTEL_RESOURCE_ATTRIBUTES`.',
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
    'Share of traces that the samplers `traceidratio` and `parentbased_traceidratio` record, from 0 to 1.',
  ),
  propagators: setting(
    'OTEL_PROPAGATORS',
    someOf(['tracecontext', 'baggage', 'none']).default(['tracecontext', 'baggage']),
    'Formats in which units pass the trace context of a call to each other. Events and jobs keep only `tracecontext`.',
  ),
  isDisabled: setting(
    'OTEL_SDK_DISABLED',
    z.string().toLowerCase().pipe(flag).default(false).meta({ title: 'true | false' }),
    '`true` turns traces off, regardless of all other settings.',
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
    '`production`: a process that uses a database, Redis, Kafka or S3 does not start if their settings are missing. gRPC reflection is off, and GraphQL introspection is off by default.',
    { without: '`development`' },
  ),
  meshKey: meshKeySetting,
  extraCaCerts: setting(
    'NODE_EXTRA_CA_CERTS',
    certificatesFile.optional(),
    'PEM file with private certificate authorities, trusted in addition to the public ones for all TLS connections of a process: database, Redis, Kafka, S3, mail, traces and others. Read at start.',
    { without: 'only the public certificate authorities' },
  ),
  redisUrl: setting(
    'REDIS_URL',
    redisUrl.optional(),
    'URL of Redis 7, which processes share for counters, announcements and live events. `rediss://` uses TLS.',
    { secret: true, without: 'the memory of each process', requiredInProduction: true },
  ),
  eventLogMaxBytes: setting(
    'EVENT_LOG_MAX_BYTES',
    byteCount.default(268_435_456),
    'Maximum memory of a process for live events, if `REDIS_URL` is not set. Above this limit, the oldest events are dropped first.',
  ),
  log: logSettings,
  tracing: tracingSettings,
};

/** Additional settings of a service process that publishes or consumes events. */
export const eventSettings = {
  kafka: {
    brokers: setting('KAFKA_BROKERS', brokers.optional(), brokersMeaning, {
      without: 'events stay in one process',
      requiredInProduction: true,
    }),
    ...kafkaConnection,
    stalledAfterMs: setting(
      'KAFKA_STALLED_AFTER_MS',
      positiveInt.default(60_000),
      'Time without a heartbeat, or without progress while events wait, after which a Kafka consumer is restarted.',
    ),
  },
};

/** Additional settings of a service process that stores files. */
export const fileSettings = {
  s3: optionalGroup('S3_ENDPOINT', {
    endpoint: setting('S3_ENDPOINT', fetchedUrl, 'URL of the S3 service that stores files.', {
      without: 'files in the data folder, only with `scripts/up`',
      requiredInProduction: true,
    }),
    publicEndpoint: setting(
      'S3_PUBLIC_ENDPOINT',
      fetchedUrl.optional(),
      'URL by which clients reach the S3 service. Signed URLs of files begin with this URL.',
      { without: '`S3_ENDPOINT`' },
    ),
    bucket: setting(
      'S3_BUCKET',
      z.string(),
      'Name of the S3 bucket for files. The bucket must exist, and its CORS rules must let browsers PUT and GET.',
    ),
    region: setting('S3_REGION', z.string().default('us-east-1'), 'Region of the S3 bucket.'),
    accessKeyId: setting(
      'S3_ACCESS_KEY_ID',
      z.string(),
      'Id of the S3 access key, which must be allowed to read, write, delete and list objects in the bucket.',
    ),
    secretAccessKey: setting('S3_SECRET_ACCESS_KEY', z.string(), 'Secret of the S3 access key.', { secret: true }),
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
    'Interval at which the host name of a unit is looked up again by the units that call it, so that new processes of that unit receive calls.',
  ),
  tls: {
    certFile: setting(
      'MESH_TLS_CERT_FILE',
      z.string().optional().meta({ title: 'file' }),
      'PEM file with the certificate of this process and its intermediate certificates. Turns on mTLS between units. Other units must call this process by a name of the certificate. A replaced file applies to new connections within 10 s.',
      { without: 'calls between units are not encrypted' },
    ),
    keyFile: setting(
      'MESH_TLS_KEY_FILE',
      z.string().optional().meta({ title: 'file' }),
      'PEM file with the private key of the certificate in `MESH_TLS_CERT_FILE`.',
      {
        required: 'with MESH_TLS_CERT_FILE',
      },
    ),
    caFile: setting(
      'MESH_TLS_CA_FILE',
      z.string().optional().meta({ title: 'file' }),
      'PEM file with the authorities that sign the certificates of other units. Whoever has a certificate of these authorities may connect, so these authorities must sign nothing else.',
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
        'URL of PostgreSQL 15 or newer with pgvector. `?sslmode=verify-full` at the end turns on TLS. `<SERVICE>_DATABASE_URL` overrides this setting for one service.',
        {
          secret: true,
          without: 'the embedded PGlite, only with `scripts/up`',
          required: `without \`${prefix}_DATABASE_URL\``,
        },
      ),
      migrationsUrl: setting(
        'MIGRATIONS_DATABASE_URL',
        postgresUrl,
        'Database URL for migrations, if another login than that of `DATABASE_URL` owns the schemas. `<SERVICE>_MIGRATIONS_DATABASE_URL` overrides this setting for one service.',
        { secret: true, without: '`DATABASE_URL`' },
      ),
    },
    own: {
      url: setting(
        `${prefix}_DATABASE_URL`,
        postgresUrl,
        'PostgreSQL database of this service, if it is another one than the shared `DATABASE_URL`.',
        {
          secret: true,
          without: '`DATABASE_URL`',
        },
      ),
      migrationsUrl: setting(
        `${prefix}_MIGRATIONS_DATABASE_URL`,
        postgresUrl,
        "PostgreSQL URL with the login that owns this service's schema and runs its migrations, if the service itself uses another login.",
        { secret: true, without: '`MIGRATIONS_DATABASE_URL`' },
      ),
    },
  };
}

type PortKind = 'rpc' | 'graph' | 'ops';
const portMeanings: Record<PortKind, string> = {
  rpc: 'Port for gRPC calls from other units; 0 takes any free port.',
  graph: 'Port of the GraphQL subgraph, which the gateway calls; 0 takes any free port.',
  ops: 'Port for liveness, readiness and metrics: `/healthz`, `/readyz`, `/metrics`; 0 takes any free port.',
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
  'Public address of the installation for clients, also the issuer and audience of access tokens. Must be the same for gateway and identity.',
);

/** The public address of the voice service, without a slash at its end. */
export const voicePublicUrlSetting = setting(
  'VOICE_PUBLIC_URL',
  httpUrl.default('http://localhost:4100').transform((url) => url.replace(/\/$/, '')),
  'Address at which clients reach the voice service; `sdkStart` returns it as `avatarServiceUrl`.',
);

/** The keys of session tokens. The gateway verifies the tokens with them, and some services issue tokens. */
export const avatarTokenKeysSetting = setting(
  'AVATAR_TOKEN_KEYS',
  keyRing,
  'Keys that sign and verify session tokens, as `k1:base64,…`. The first key signs; all keys are accepted.',
  { secret: true },
);

/** A setting for servers that pages of other sites call. */
export const corsOriginsSetting = setting(
  'CORS_ORIGINS',
  list.default(['*']),
  'Origins from which browsers may call, separated by commas. `*` allows any origin.',
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

/**
 * Keys that encrypt stored data, and that sign the URLs of stored files if all units run in one process without S3. The first key is used
 * for new data and URLs.
 */
export const secretsKeysSetting = setting(
  'SECRETS_KEYS',
  secretKeys,
  'Keys that encrypt stored data: 32 bytes or more in base64, separated by commas, each with an optional prefix `name:`. The first key encrypts. Encrypted data cannot be read without the key that was used.',
  { secret: true },
);

/** Session and agent share this setting, so that every turn can make its model call. */
export const turnsAtOnceSetting = setting(
  'SESSION_TURNS_AT_ONCE',
  positiveInt.default(200),
  'Maximum number of concurrent turns in one process of session, and of concurrent calls to one model provider in one process of agent. Further turns and calls wait in a queue that is fair by tenant.',
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
    'Hosts that URLs of tenants may reach although these hosts are not public: names, addresses or CIDRs, separated by commas. Every tenant may call these hosts.',
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
    'Base URL of the external identity provider IDP_ONE. Below this URL are `/tickets/exchange`, which exchanges tickets, and `/products/<product>/token`, which issues tokens of products.',
    { without: 'IDP_ONE is not used' },
  ),
  clientId: setting('IDP_ONE_CLIENT_ID', headerValue, 'Client id that is sent to IDP_ONE in the header `X-Client-Id`.'),
  clientSecret: setting(
    'IDP_ONE_CLIENT_SECRET',
    headerValue,
    'Client secret that is sent to IDP_ONE in the header `X-Client-Secret`.',
    { secret: true },
  ),
  timeoutMs: setting(
    'IDP_ONE_TIMEOUT_MS',
    positiveInt.default(5_000),
    'Maximum time of one ticket exchange with IDP_ONE, including its wait in the queue, and of one token request to IDP_ONE. Must be below 15000, because session waits that long for an exchange.',
  ),
};

export type IdpOneSettings = ValuesOf<typeof idpOne>;

/** Settings of the external identity provider, for every unit that calls it. */
export const idpOneSettings = optionalGroup('IDP_ONE_URL', idpOne);
