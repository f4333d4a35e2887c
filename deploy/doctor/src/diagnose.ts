import { within } from '@parley/kernel/timers';
import { checkAddresses } from './addresses.ts';
import { checkCertificates } from './certificates.ts';
import { reasonOf } from './connection-problem.ts';
import { envOf, type Installation, settingsRead } from './installation.ts';
import { checkKafka } from './kafka.ts';
import { checkMail } from './mail.ts';
import { checkObjectStore } from './object-store.ts';
import { merged, type Outcome, wrong } from './outcome.ts';
import { checkPostgres } from './postgres.ts';
import { checkRedis } from './redis.ts';
import { checkSettings } from './settings.ts';
import { withoutSecrets } from './without-secrets.ts';

type Checks = Record<string, (installation: Installation) => Outcome[] | Promise<Outcome[]>>;

/** Of all units together. */
const checks: Checks = {
  settings: checkSettings,
  certificates: checkCertificates,
  postgres: checkPostgres,
};

/** Of all units that have the same engines. */
const engineChecks: Checks = {
  redis: checkRedis,
  kafka: checkKafka,
  s3: checkObjectStore,
  mail: checkMail,
  addresses: checkAddresses,
};

const longestMs = 60_000;

/** Checks the settings and all that they name, at once. The outcomes have no secret in them. */
export async function diagnose(installation: Installation): Promise<Outcome[]> {
  const { env, allUnits } = installation;
  const ofEngines = byEngines(installation);
  const planned = [
    ...Object.entries(checks).map(([name, check]) => ({ name, check, of: installation })),
    ...Object.entries(engineChecks).flatMap(([name, check]) => ofEngines.map((of) => ({ name, check, of }))),
  ];
  const outcomes = await Promise.all(
    planned.map(async ({ name, check, of }) => {
      try {
        return await within(longestMs, 'The check', Promise.resolve(check(of)));
      } catch (error) {
        return [wrong(`${name}.failed`, [], `a check failed: ${reasonOf(error)}`, 'See the log of that server.')];
      }
    }),
  );
  const shown = withoutSecrets(
    env,
    settingsRead(allUnits).map(({ setting }) => setting),
  );
  return merged(outcomes.flat()).map((outcome) => ({
    ...outcome,
    found: shown(outcome.found),
    change: shown(outcome.change),
  }));
}

/** An installation for each set of values that units get for the settings that others read too. */
function byEngines(installation: Installation): Installation[] {
  const { env, units } = installation;
  const shared = settingsRead(units).flatMap(({ setting, readers }) => (readers.length > 1 ? [setting.name] : []));
  const groups = Map.groupBy(units, ({ name }) => {
    const given = envOf(installation, name);
    return JSON.stringify(shared.map((setting) => given[setting] ?? null));
  });
  return [...groups.values()].map((group) => ({
    ...installation,
    env: Object.assign({}, env, ...group.map(({ name }) => envOf(installation, name))),
    units: group,
  }));
}
