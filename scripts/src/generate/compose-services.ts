import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ListedUnit } from '@parley/units';
import { parse } from 'yaml';
import { type ChartUnit, chartUnit } from './chart-units.ts';

const path = 'deploy/compose/compose.yaml';

const place = /(?<= {2}# <units, by scripts\/generate>\n).*?(?= {2}# <\/units>)/su;

/** Ports inside containers, the same as in the chart's pods. */
const ports = { public: 4000, graph: 4001, rpc: 50051, ops: 9464 };

/** Engines whose settings are in the file as `x-<engine>`. */
const given = ['kafka', 's3', 'smtp'];

interface Values {
  defaults: Sized;
  units: Record<string, Partial<Sized>>;
}

interface Sized {
  resources: { limits?: { memory: string } };
}

/** Returns the file of Docker Compose with a service for each unit, and the chart's memory limits. */
export function composeServices(root: string, units: readonly ListedUnit[]) {
  const { defaults, units: own }: Values = parse(readFileSync(join(root, 'charts/parley/values.yaml'), 'utf8'));
  const services = units.map((unit) => {
    const { limits = defaults.resources.limits } = own[unit.name]?.resources ?? {};
    return serviceOf(chartUnit(unit, units), limits?.memory);
  });
  const file = readFileSync(join(root, path), 'utf8');
  if (!place.test(file)) throw new Error(`${path} has no place for the services of units`);
  return [{ path, text: file.replace(place, () => services.join('\n')) }];
}

function serviceOf({ name, serves, uses, engines, readsPublicUrl }: ChartUnit, memory: string | undefined): string {
  const shared = given.filter((engine) => engines.includes(engine)).map((engine) => `*${engine}`);
  const portSettings = [...serves, 'ops' as const].map((endpoint): [string, number] => [
    [name.toUpperCase(), ...(endpoint === 'public' ? [] : [endpoint.toUpperCase()]), 'PORT'].join('_'),
    ports[endpoint],
  ]);
  const addresses = uses.map(({ setting, unit, endpoint }): [string, string] => [
    setting,
    endpoint === 'rpc' ? `${unit}:${ports.rpc}` : `http://${unit}:${endpoint === 'graph' ? ports.graph : ports.public}`,
  ]);
  const environment = [
    ...(shared.length > 0 ? [['<<', `[${shared.join(', ')}]`]] : []),
    ...(readsPublicUrl ? [['PARLEY_PUBLIC_URL', '*public-url']] : []),
    ...portSettings,
    ...addresses,
  ];
  const lines = [
    `${name}:`,
    '  <<: *unit',
    `  image: parley/${name}:dev`,
    `  build: { context: ../.., dockerfile: deploy/docker/Dockerfile, args: { UNIT: ${name} } }`,
    ...(memory === undefined ? [] : [`  mem_limit: ${memory.replace(/i$/u, '').toLowerCase()}`]),
    ...(serves.includes('public') ? [`  ports: ["127.0.0.1:${publicPort(name)}:${ports.public}"]`] : []),
    '  environment:',
    ...environment.map(([setting, value]) => `    ${setting}: ${value}`),
  ];
  return lines.map((line) => `  ${line}\n`).join('');
}

/** Returns the host's port at which clients reach a unit: the default of the unit's setting. */
function publicPort(unit: string): string {
  return unit === 'gateway' ? '${GATEWAY_PORT:-4000}' : '${VOICE_PORT:-4100}';
}
