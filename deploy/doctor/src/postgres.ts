import { hostAndPort } from './connection-problem.ts';
import type { Installation } from './installation.ts';
import { type Outcome, warning } from './outcome.ts';
import { type Connection, connectLogin } from './postgres-connection.ts';
import { loginsOf, type UsedSchema, usedSchemas } from './postgres-logins.ts';
import { limitOutcomes, poolOutcomes } from './postgres-pools.ts';
import { schemaOutcomes } from './postgres-schema.ts';
import { databaseOutcomes } from './postgres-server.ts';
import { writableOutcomes } from './postgres-writable.ts';

/** Connects each login of the units to PostgreSQL, and checks each server, database and schema once. */
export async function checkPostgres(installation: Installation): Promise<Outcome[]> {
  const { env, units } = installation;
  const schemas = usedSchemas(env, units);
  const connected = await Promise.all(loginsOf(schemas).map((login) => connectLogin(login, installation)));
  const connections = connected.filter((each) => 'pool' in each);
  try {
    return [
      ...connected.filter((each) => 'level' in each),
      ...connections.flatMap(unverifiedOutcomes),
      ...connections.flatMap(writableOutcomes),
      ...databases(connections, schemas),
      ...servers(connections, schemas, installation),
      ...limitOutcomes(connections, schemas, installation),
      ...(await Promise.all(schemas.map((schema) => checkSchema(schema, connections, env)))).flat(),
    ];
  } finally {
    await Promise.all(connections.map(({ pool }) => pool.destroy()));
  }
}

function unverifiedOutcomes({ url, settings }: Connection): Outcome[] {
  if (new URL(url).searchParams.get('sslmode') !== 'no-verify') return [];
  const found = `${hostAndPort(url).at} is reached by TLS, and its certificate is not verified`;
  return [
    warning('postgres.unverified', settings, found, 'Use sslmode=verify-full: anyone could answer in its place.'),
  ];
}

function databases(connections: Connection[], schemas: UsedSchema[]): Outcome[] {
  return [...Map.groupBy(connections, ({ at }) => at).values()].flatMap(([first, ...others]) => {
    if (!first) return [];
    const urls = [first, ...others].map(({ url }) => url);
    const inIt = schemas.filter(({ service }) => urls.includes(service.url));
    return databaseOutcomes({ ...first, settings: [first, ...others].flatMap(({ settings }) => settings) }, inIt);
  });
}

function servers(connections: Connection[], schemas: UsedSchema[], installation: Installation): Outcome[] {
  const serverOf = (url: string) => hostAndPort(url).at;
  const onEach = Map.groupBy(schemas, ({ service }) => serverOf(service.url));
  return [...onEach].flatMap(([server, used]) => {
    const connection = connections.find(({ url }) => serverOf(url) === server);
    return connection ? poolOutcomes(connection, used, installation) : [];
  });
}

async function checkSchema(used: UsedSchema, connections: Connection[], env: Installation['env']): Promise<Outcome[]> {
  const service = connections.find(({ url }) => url === used.service.url);
  const migrations = connections.find(({ url }) => url === used.migrations?.url);
  // `connectLogin` has already reported a refused login.
  if (!service || (used.migrations && !migrations)) return [];
  return schemaOutcomes(used, service, migrations, env);
}
