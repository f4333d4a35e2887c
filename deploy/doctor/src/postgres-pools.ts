import { poolSizeSetting } from '@parley/kernel/settings/shared-settings';
import { hostAndPort } from './connection-problem.ts';
import { envOf, type Installation, usable } from './installation.ts';
import { type Outcome, ok, warning } from './outcome.ts';
import type { Connection } from './postgres-connection.ts';
import type { UsedSchema } from './postgres-logins.ts';

type Used = Pick<UsedSchema, 'unit'>;
type Planned = Pick<Installation, 'env' | 'planned'>;

/** Returns the maximum number of connections of these units' pools, and the number of processes. */
function poolsOf(schemas: readonly Used[], installation: Planned) {
  const pools = schemas.flatMap(({ unit: { name, replicas } }) => {
    const size = usable(envOf(installation, name), { poolSizeSetting })?.poolSizeSetting;
    return size === undefined ? [] : [{ size, processes: installation.planned?.[name]?.processes ?? replicas }];
  });
  const needed = pools.reduce((sum, { size, processes }) => sum + size * processes, 0);
  const processes = pools.reduce((sum, pool) => sum + pool.processes, 0);
  return { needed, use: `the ${needed} that ${processes} processes take at most` };
}

/** Checks whether a server has enough connections for all processes of the units. */
export function poolOutcomes(
  { facts, settings, at }: Pick<Connection, 'facts' | 'settings' | 'at'>,
  schemas: readonly Used[],
  installation: Planned,
): Outcome[] {
  const { needed, use } = poolsOf(schemas, installation);
  const looked = [...settings, poolSizeSetting.name];
  const server = at.replace(/\/.*/u, '');
  const check = 'postgres.connections';
  if (needed <= facts.connections) {
    return [ok(check, looked, `${server} gives ${facts.connections} connections, enough for ${use}`)];
  }
  const change = `Raise max_connections above ${needed}, lower ${poolSizeSetting.name} or the number of processes, or put a pooler between.`;
  return [warning(check, looked, `${server} gives ${facts.connections} connections, fewer than ${use}`, change)];
}

/** Checks whether the connection limits of logins and databases allow the needed connections. */
export function limitOutcomes(
  connections: readonly Connection[],
  schemas: readonly UsedSchema[],
  installation: Planned,
): Outcome[] {
  const limits = schemas.flatMap(({ unit, service }) => {
    const connection = connections.find(({ url }) => url === service.url);
    return connection ? limitsOf(connection).map((limit) => ({ unit, ...limit })) : [];
  });
  return [...Map.groupBy(limits, ({ check, whose }) => `${check} ${whose}`).values()].flatMap((same) => {
    const [first] = same;
    if (!first) return [];
    const { check, whose, limit, alter } = first;
    const { needed, use } = poolsOf(same, installation);
    if (needed <= limit) return [];
    const looked = [...same.flatMap(({ settings }) => settings), poolSizeSetting.name];
    const change = `ALTER ${alter} CONNECTION LIMIT ${needed} or more, lower ${poolSizeSetting.name} or the number of processes, or put a pooler between.`;
    return [warning(check, looked, `${whose} may have ${limit} connections, fewer than ${use}`, change)];
  });
}

function limitsOf({ facts, settings, url, at }: Connection) {
  const { login, database, loginConnections, databaseConnections } = facts;
  return [
    {
      check: 'postgres.login-connections',
      whose: `${login} at ${hostAndPort(url).at}`,
      limit: loginConnections,
      alter: `ROLE ${login}`,
      settings,
    },
    {
      check: 'postgres.database-connections',
      whose: `all of ${at}`,
      limit: databaseConnections,
      alter: `DATABASE ${database}`,
      settings,
    },
  ].flatMap(({ limit, ...others }) => (limit === null ? [] : [{ limit, ...others }]));
}
