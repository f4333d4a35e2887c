import { gatewaySettings } from '@parley/gateway/config';
import { misspeltSettings, SettingsError, unknownSettings } from '@parley/kernel/settings/config';
import { publicUrlSetting } from '@parley/kernel/settings/shared-settings';
import { checkCertificates } from '@parley/kernel/tls/check-certificates';
import { allSettings, checkSettingsOfUnit } from '@parley/units/settings';
import { envOf, type Installation, settingsRead, unitAddress, usable } from './installation.ts';
import { type Outcome, ok, warning, wrong } from './outcome.ts';

/** Reads all settings as the units do, and warns about values that are valid but probably unintended. */
export function checkSettings(installation: Installation): Outcome[] {
  const outcomes = [
    ...problemOutcomes(installation),
    ...unknownOutcomes(installation),
    ...publicUrlOutcomes(installation),
    ...corsOutcomes(installation),
  ];
  if (outcomes.length > 0) return outcomes;
  const names = installation.units.map(({ name }) => name).join(', ');
  return [ok('settings.complete', [], `those of ${names} are complete`)];
}

function problemOutcomes(installation: Installation): Outcome[] {
  const { env, units } = installation;
  const read = settingsRead(units);
  const problems = units.flatMap((unit) => {
    const envOfUnit = envOf(installation, unit.name);
    return [() => checkSettingsOfUnit(unit, envOfUnit), () => checkCertificates(envOfUnit)].flatMap(problemsOf);
  });
  const addresses = read.map(({ setting }) => setting.name).filter((name) => unitAddress.test(name));
  const withoutAddresses = addresses.length > 0 && addresses.every((name) => !env[name]);
  const others = withoutAddresses ? problems.filter((each) => !addresses.includes(settingOf(each))) : problems;
  const bySetting = Map.groupBy(new Set(others), settingOf);
  const outcomes = [...bySetting].map(([name, ofIt]) => {
    const found = `${name}${ofIt.map((problem) => problem.slice(name.length + 1)).join(' and')}`;
    return problemOutcome(
      name,
      found,
      env[name],
      read.find(({ setting }) => setting.name === name),
    );
  });
  if (!withoutAddresses) return outcomes;
  const found = `no address of another unit is set (${addresses.join(', ')})`;
  const change = 'Nothing where the Helm chart or `scripts/up --mesh` gives them to the units. Else set each.';
  return [...outcomes, warning('settings.addresses', [], found, change)];
}

/**
 * Returns problems as `NAME: problem`. For a database setting, the problem contains two names: the setting that all schemas share, and the
 * setting of one schema. Only the shared name is kept, so that the problem is the same for each schema.
 */
function problemsOf(read: () => void): string[] {
  try {
    read();
    return [];
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    return error.problems.map((problem) => problem.replace(/^DATABASE_URL or \w+:/u, 'DATABASE_URL:'));
  }
}

function settingOf(problem: string): string {
  return problem.slice(0, problem.indexOf(':'));
}

function problemOutcome(
  name: string,
  problem: string,
  value: string | undefined,
  { setting, readers }: Partial<ReturnType<typeof settingsRead>[number]> = {},
): Outcome {
  const found = `${problem}${readers ? ` (${readers.join(', ')})` : ''}`;
  const meaning = setting?.meaning ?? '';
  if (value?.startsWith('tcp://')) {
    const change = 'Kubernetes has given it the address of a Service: set `enableServiceLinks: false` for the pod.';
    return wrong('settings.service-links', [name], found, change);
  }
  if (value) return wrong('settings.invalid', [name], found, `Correct ${name}. ${meaning}`.trim());
  return wrong('settings.missing', [name], found, `Set ${name}. ${meaning}`.trim());
}

function unknownOutcomes({ env, allUnits }: Installation): Outcome[] {
  // If all units share one environment, it may contain settings that only some units read.
  for (const unit of allUnits) problemsOf(() => checkSettingsOfUnit(unit, env));
  const known = Object.values(allSettings()).flatMap((settings) => settings.map(({ name }) => name));
  const ofUnits = settingsRead(allUnits).map(({ setting }) => setting.name);
  const unknown = {
    ...misspeltSettings(env, [...known, ...ofUnits]),
    ...unknownSettings(
      env,
      allUnits.map(({ name }) => name),
    ),
  };
  return Object.entries(unknown).map(([name, nearest]) =>
    warning('settings.unknown', [name], `no unit reads ${name}`, `Remove it, or name it ${nearest} if that was meant.`),
  );
}

const isLocal = ({ hostname }: URL) => /^(?:localhost|127\.[\d.]+|\[::1\])$/u.test(hostname);

function publicUrlOutcomes({ env, units }: Installation): Outcome[] {
  const { name } = publicUrlSetting;
  const publicUrl = usable(env, { publicUrl: publicUrlSetting })?.publicUrl;
  const isRead = settingsRead(units).some(({ setting }) => setting.name === name);
  if (!isRead || publicUrl === undefined || env.NODE_ENV !== 'production') return [];
  const url = new URL(publicUrl);
  const change = `Set ${name} to the https address by which clients reach the gateway.`;
  if (isLocal(url))
    return [warning('settings.public-url', [name], `${name} is an address of this machine alone`, change)];
  if (url.protocol === 'https:') return [];
  return [warning('settings.public-url', [name], `${name} is not https, so tokens cross the network in clear`, change)];
}

function corsOutcomes({ env, units }: Installation): Outcome[] {
  const { corsOrigins } = gatewaySettings;
  const isRead = settingsRead(units).some(({ setting }) => setting.name === corsOrigins.name);
  if (!isRead || !usable(env, { corsOrigins })?.corsOrigins.includes('*')) return [];
  const found = `${corsOrigins.name} lets pages of any origin call the gateway`;
  return [warning('settings.cors', [corsOrigins.name], found, 'Name the origins of your own pages.')];
}
