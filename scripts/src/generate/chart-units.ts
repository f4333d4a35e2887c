import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Endpoint } from '@parley/kernel/processes/addresses';
import type { ListedSetting } from '@parley/kernel/settings/settings';
import { units as allUnits, type ListedUnit } from '@parley/units';
import { settingsOfUnit } from '@parley/units/settings';
import { wrapped } from './wrapped.ts';

/** Facts about a unit for the chart's templates. */
export interface ChartUnit {
  name: string;
  replicas: number;
  /** Endpoints that the unit serves. Every unit also has the operators' port. */
  serves: readonly Exclude<Endpoint, 'ops'>[];
  /** Endpoints of other units, each with the setting that contains its address. */
  uses: { setting: string; unit: string; endpoint: string }[];
  /** Engines outside the mesh to which the unit connects. */
  engines: string[];
  /** Whether the unit also calls arbitrary public addresses. */
  callsOut: boolean;
  /** Whether the unit reads PARLEY_PUBLIC_URL. */
  readsPublicUrl: boolean;
  schema: string | null;
  /** Topics that the unit publishes to. */
  publishes: { topic: string; partitions: number }[];
  /** Topics that the unit consumes, each with its consumer group. */
  consumes: { topic: string; group: string }[];
  /** Names of the unit's settings, including the settings that every process reads. */
  settings: string[];
  secrets: string[];
  /** Names of the settings without which the unit does not start in production. */
  required: string[];
}

const address = /^(?<unit>[A-Z]+)_(?<endpoint>RPC|GRAPH|HTTP)_URL$/u;

/** Settings that the templates set, or leave at their default. */
export const setByChart =
  /_(RPC|GRAPH|OPS)_PORT$|_(RPC|GRAPH|HTTP)_URL$|^(GATEWAY_PORT|VOICE_PORT|PARLEY_HOST|PARLEY_PUBLIC_URL|NODE_ENV|NODE_EXTRA_CA_CERTS|MESH_TLS_\w+_FILE|PARLEY_DATA_DIR|LOG_FILE|OTEL_SERVICE_NAME)$/u;

/** Settings that only the migration hook reads. */
export const ofMigrations = /MIGRATIONS_DATABASE_URL$/u;

/** Engines, by the name of the setting that contains their address. */
const engines: Record<string, string> = {
  DATABASE_URL: 'postgres',
  REDIS_URL: 'redis',
  KAFKA_BROKERS: 'kafka',
  S3_ENDPOINT: 's3',
  SMTP_URL: 'smtp',
  OTEL_EXPORTER_OTLP_ENDPOINT: 'telemetry',
};

/** Returns the chart's files that are generated from the list of units, by their path in the checkout. */
export function chartUnits(root: string, units: readonly ListedUnit[] = allUnits) {
  const settings = units.flatMap((unit) => readBy(unit).map((setting) => [setting.name, setting] as const));
  const given = new Map(settings.toSorted(([a], [b]) => a.localeCompare(b)));
  const listed = units.map((unit) => chartUnit(unit, units));
  const described = [...given].map(([name, { secret, meaning }]) => [name, { secret, meaning }]);
  const data = JSON.stringify({ units: listed, settings: Object.fromEntries(described) }, null, 2);
  const readme = join(root, 'charts/parley/README.md');
  const texts = existsSync(readme) ? [{ path: 'charts/parley/README.md', text: withLists(readme, listed, given) }] : [];
  return [{ path: 'charts/parley/files/units.json', text: `${data}\n` }, ...texts];
}

function readBy(unit: ListedUnit): ListedSetting[] {
  const { own, shared } = settingsOfUnit(unit);
  return [...own, ...shared].filter(({ name }) => !ofMigrations.test(name));
}

export function chartUnit(unit: ListedUnit, units: readonly ListedUnit[]): ChartUnit {
  const { name, replicas, serves, schema, publishes = [], consumes = [], callsOut = false } = unit;
  const read = readBy(unit);
  const uses = read.flatMap(({ name: setting }) => {
    const { unit: used, endpoint } = address.exec(setting)?.groups ?? {};
    return used && endpoint
      ? [{ setting, unit: used.toLowerCase(), endpoint: endpoint === 'HTTP' ? 'public' : endpoint.toLowerCase() }]
      : [];
  });
  const given = read.filter((setting) => !setByChart.test(setting.name));
  const namesOf = (settings: ListedSetting[]) => [...new Set(settings.map((setting) => setting.name))];
  const consumed = units.flatMap(({ publishes: topics = [] }) =>
    topics.filter(({ types }) => types.some((type) => consumes.includes(type))),
  );
  return {
    name,
    replicas,
    serves,
    uses,
    engines: namesOf(read).flatMap((setting) => engines[setting] ?? []),
    callsOut,
    readsPublicUrl: namesOf(read).includes('PARLEY_PUBLIC_URL'),
    schema: schema?.name ?? null,
    publishes: publishes.map(({ name: topic, partitions }) => ({ topic, partitions })),
    consumes: consumed.map(({ name: topic }) => ({ topic, group: `${name}.${topic}` })),
    settings: namesOf(given.filter(({ secret }) => !secret)),
    secrets: namesOf(given.filter(({ secret }) => secret)),
    required: namesOf(given.filter(({ required }) => required === 'always' || required === 'in production')),
  };
}

/** Returns the README with current lists of the units and of the Secret's keys. */
function withLists(readme: string, units: ChartUnit[], settings: Map<string, ListedSetting>): string {
  const secrets = [...settings.values()].filter(({ secret }) => secret);
  const keys = secrets.map(({ name, meaning }) => {
    const readers = units.filter((unit) => unit.secrets.includes(name));
    const isRequired = readers.some(({ required }) => required.includes(name));
    const by = readers.length === units.length ? 'all units' : readers.map((unit) => unit.name).join(', ');
    return wrapped(`- \`${name}\`${isRequired ? ', required' : ''}, read by ${by}. ${meaning}`, '  ');
  });
  const connections = units.map(({ name, serves, uses, engines, callsOut }) => {
    const called = [...new Set(uses.map(({ unit }) => unit))];
    const calls = called.length > 0 ? [`calls ${called.join(', ')}`] : [];
    const connects = `connects to ${[...engines, ...(callsOut ? ['the world'] : [])].join(', ')}`;
    return wrapped(`- ${name}: ports ${[...serves, 'ops'].join(', ')}; ${[...calls, connects].join('; ')}.`, '  ');
  });
  const lists: Record<string, string[]> = { units: connections, secrets: keys };
  return readFileSync(readme, 'utf8').replaceAll(
    /(?<=<!-- (?<name>units|secrets) -->\n).*?(?=<!-- end of \w+ -->)/gsu,
    (_, name: string) => `\n${lists[name]?.join('\n')}\n\n`,
  );
}
