import { within } from '@parley/kernel/timers';
import { checkAddresses } from './addresses.ts';
import { checkCertificates } from './certificates.ts';
import { reasonOf } from './connection-problem.ts';
import { type Installation, settingsRead } from './installation.ts';
import { checkKafka } from './kafka.ts';
import { checkMail } from './mail.ts';
import { checkObjectStore } from './object-store.ts';
import { merged, type Outcome, wrong } from './outcome.ts';
import { checkPostgres } from './postgres.ts';
import { checkRedis } from './redis.ts';
import { checkSettings } from './settings.ts';
import { withoutSecrets } from './without-secrets.ts';

const checks: Record<string, (installation: Installation) => Outcome[] | Promise<Outcome[]>> = {
  settings: checkSettings,
  certificates: checkCertificates,
  postgres: checkPostgres,
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
  const outcomes = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => {
      try {
        return await within(longestMs, 'The check', Promise.resolve(check(installation)));
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
