import { identitySettings } from '@parley/identity/config';
import { listSettings, type Settings } from '@parley/kernel/settings/settings';
import { eventSettings, fileSettings, unitProcessSettings } from '@parley/kernel/settings/shared-settings';
import { within } from '@parley/kernel/timing/timers';
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
import { checkVoice, voiceProviders } from './voice.ts';
import { withoutSecrets } from './without-secrets.ts';

type Check = (installation: Installation) => Outcome[] | Promise<Outcome[]>;

/** The checks that concern all units together, by section. */
const checks: Record<string, Check> = {
  settings: checkSettings,
  certificates: checkCertificates,
  postgres: checkPostgres,
};

const { redisUrl } = unitProcessSettings;
const { stalledAfterMs: _, ...kafka } = eventSettings.kafka;
const { smtpUrl } = identitySettings.delivery;

/** Each check runs once for all units that reach the engine by the same settings. */
const engineChecks: Record<string, { check: Check; reachedBy: Settings }> = {
  redis: { check: checkRedis, reachedBy: { redisUrl } },
  kafka: { check: checkKafka, reachedBy: kafka },
  s3: { check: checkObjectStore, reachedBy: fileSettings },
  mail: { check: checkMail, reachedBy: { smtpUrl } },
  voice: { check: checkVoice, reachedBy: voiceProviders },
};

const longestMs = 60_000;

/** Checks the settings and every system that they name, concurrently. The outcomes contain no secrets. */
export async function diagnose(installation: Installation): Promise<Outcome[]> {
  const { env, units, allUnits } = installation;
  const allSettings = settingsRead(units).map(({ setting }) => setting.name);
  const planned = [
    ...Object.entries(checks).map(([name, check]) => ({ name, check, of: installation })),
    ...Object.entries(engineChecks).flatMap(([name, { check, reachedBy }]) => {
      const settings = listSettings(reachedBy).map((setting) => setting.name);
      return bySettings(installation, settings).map((of) => ({ name, check, of }));
    }),
    // Units may call different addresses, so this check runs once for each group of units with the same settings.
    ...bySettings(installation, allSettings).map((of) => ({ name: 'addresses', check: checkAddresses, of })),
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

/**
 * Groups the units by their values of these settings, and returns an installation for each group. Omits units that read none of the
 * settings.
 */
function bySettings(installation: Installation, settings: readonly string[]): Installation[] {
  const { env, units } = installation;
  const readers = units.filter((unit) => settingsRead([unit]).some(({ setting }) => settings.includes(setting.name)));
  const groups = Map.groupBy(readers, ({ name }) => {
    const given = envOf(installation, name);
    return JSON.stringify(settings.map((setting) => given[setting] ?? null));
  });
  return [...groups.values()].map((group) => ({
    ...installation,
    env: Object.assign({}, env, ...group.map(({ name }) => envOf(installation, name))),
    units: group,
  }));
}
