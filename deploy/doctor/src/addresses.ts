import type { ListedSetting } from '@parley/kernel/settings/settings';
import { fileSettings, publicUrlSetting } from '@parley/kernel/settings/shared-settings';
import { readTracing } from '@parley/kernel/telemetry/telemetry';
import { connectionProblem, hostAndPort, reach, reasonOf, resolveHost } from './connection-problem.ts';
import { type Installation, settingsRead, unitAddress } from './installation.ts';
import { type Outcome, ok, warning } from './outcome.ts';
import { voiceUrls } from './voice.ts';

/** URL settings that this check skips: the checks of the object store and of voice cover them, or only people open them in a browser. */
const { endpoint, publicEndpoint } = fileSettings.s3.settings;
const others = [endpoint.name, publicEndpoint.name, publicUrlSetting.name, 'RESET_URL', ...voiceUrls];

/**
 * Connects to the addresses that units call and that no other check covers: models, embeddings, text messages, traces. For the addresses of
 * other units, only resolves the names.
 */
export async function checkAddresses(installation: Installation): Promise<Outcome[]> {
  const { env, units, patienceMs } = installation;
  const given = settingsRead(units).filter(({ setting }) => env[setting.name]);
  const isTraced = tracesAreOn(installation);
  const called = given.filter(({ setting }) => isCalled(setting) && (isTraced || !setting.name.startsWith('OTEL_')));
  const neighbours = given.filter(({ setting }) => unitAddress.test(setting.name));
  const outcomes = await Promise.all([
    ...called.map(({ setting }) => connected(setting.name, env[setting.name] ?? '', patienceMs)),
    ...neighbours.flatMap(({ setting }) =>
      (env[setting.name] ?? '').split(',').map((address) => resolved(setting.name, address.trim())),
    ),
  ]);
  return outcomes.flat();
}

/**
 * Reports whether units call the URL. A URL setting that has a default value only names a page for people, such as a vendor's
 * documentation.
 */
function isCalled({ name, type, default: usual }: ListedSetting): boolean {
  return type === 'URL' && usual === undefined && !others.includes(name) && !unitAddress.test(name);
}

function tracesAreOn({ env }: Installation): boolean {
  try {
    return readTracing(env) !== undefined;
  } catch {
    return false;
  }
}

async function connected(name: string, url: string, patienceMs: number): Promise<Outcome[]> {
  if (!URL.canParse(url) || !/^https?:/u.test(url)) return [];
  const { host, port, at } = hostAndPort(url);
  try {
    await reach(host, port, patienceMs);
    return [ok('addresses.reachable', [name], `${at} accepts connections`)];
  } catch (error) {
    return [unreached(name, at, error)];
  }
}

async function resolved(name: string, address: string): Promise<Outcome[]> {
  const url = address.includes('://') ? address : `rpc://${address}`;
  if (!URL.canParse(url)) return [];
  const { host, at } = hostAndPort(url);
  try {
    await resolveHost(host);
    return [];
  } catch (error) {
    return [unreached(name, at, error)];
  }
}

function unreached(name: string, at: string, error: unknown): Outcome {
  const problem = connectionProblem(error, at);
  if (problem) return warning(`addresses.${problem.kind}`, [name], problem.found, problem.change);
  return warning('addresses.unreachable', [name], `${at} cannot be reached: ${reasonOf(error)}`, `Correct ${name}.`);
}
