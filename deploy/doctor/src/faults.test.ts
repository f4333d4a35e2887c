import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { leftOut } from '@parley/testing/left-out';
import { testAuthority } from '@parley/testing/test-authority';
import type { ListedUnit } from '@parley/units';
import test, { type ExecutionContext } from 'ava';
import { diagnose } from './diagnose.ts';
import { exitCode, report } from './report.ts';
import { encrypted } from './testing/encrypted.ts';
import { certificateFaults } from './testing/faults/certificate-faults.ts';
import { kafkaFaults } from './testing/faults/kafka-faults.ts';
import { otherFaults } from './testing/faults/other-faults.ts';
import { postgresFaults } from './testing/faults/postgres-faults.ts';
import { redisFaults } from './testing/faults/redis-faults.ts';
import { s3Faults } from './testing/faults/s3-faults.ts';
import { canary, type Garden, plantGarden } from './testing/garden.ts';
import type { Fault } from './testing/planted.ts';

const engines = ['TEST_DATABASE_URL', 'TEST_REDIS_URL', 'TEST_KAFKA_BROKERS', 'TEST_S3_ENDPOINT'];
const missing = engines.filter((name) => !process.env[name]);
let garden: Garden;
const authority = testAuthority();

/** Returns the findings about the test installation with this fault. */
async function examine(t: ExecutionContext, { env, unit, now = Date.now, undo }: Fault = {}) {
  const units = [{ ...garden.unit, ...unit }] as ListedUnit[];
  try {
    const outcomes = await diagnose({
      env: { ...garden.env, ...env },
      units,
      allUnits: units,
      now,
      patienceMs: 60_000,
    });
    const shown = JSON.stringify(outcomes) + report(outcomes);
    t.notRegex(shown, new RegExp(canary, 'u'));
    return { outcomes, findings: outcomes.filter(({ level }) => level !== 'ok') };
  } finally {
    await undo?.();
  }
}

function declareTests() {
  test.before(async () => {
    garden = await plantGarden();
    // Trusts the test's authority, as NODE_EXTRA_CA_CERTS would.
    setDefaultCACertificates([...getCACertificates('default'), authority.cert]);
  });
  test.after.always(() => garden?.remove());

  test.serial('where all is well it has no finding, and says what it has looked at', async (t) => {
    const { outcomes, findings } = await examine(t);
    t.deepEqual(findings, []);
    t.is(exitCode(outcomes), 0);
    const groups = new Set(outcomes.map(({ check }) => check.replace(/\..*/u, '')));
    t.deepEqual([...groups], ['settings', 'postgres', 'redis', 'kafka', 's3', 'mail', 'addresses']);
  });

  test.serial('a login that does not own the schema is good enough for the service', async (t) => {
    t.deepEqual((await examine(t, { env: { MIGRATIONS_DATABASE_URL: '' } })).findings, []);
  });

  test.serial(
    'a login whose statements end early is good enough, since units say themselves how long they take',
    async (t) => {
      const login = `ROLE ${garden.name}_app`;
      await garden.asSuperuser(`ALTER ${login} SET statement_timeout = '1ms'`);
      const undo = () => garden.asSuperuser(`ALTER ${login} RESET statement_timeout`);
      t.deepEqual((await examine(t, { undo })).findings, []);
    },
  );

  test.serial('engines are reached by TLS, with a private authority', async (t) => {
    const env = await encrypted(t, garden, authority.issue(['localhost']));
    const { outcomes, findings } = await examine(t, { env });
    t.deepEqual(findings, []);
    t.is(exitCode(outcomes), 0);
  });

  for (const [what, certificate, words] of [
    ['of an unknown authority', testAuthority('unknown').issue(['localhost']), /is not trusted: .*unable to verify/u],
    ['for another name', authority.issue(['elsewhere.example']), /is not for that name/u],
    ['that has expired', authority.issue(['localhost'], -1), /has expired/u],
  ] as const) {
    test.serial(`it finds engines with a certificate ${what}, and nothing else`, async (t) => {
      const { findings } = await examine(t, { env: await encrypted(t, garden, certificate) });
      const checks = ['postgres.tls', 'redis.tls', 'kafka.tls', 's3.tls', 'mail.tls'];
      t.deepEqual(
        findings.map(({ check }) => check),
        checks,
        report(findings),
      );
      for (const { found } of findings) t.regex(found, words);
    });
  }

  test.serial('it finds a PostgreSQL whose certificate is not verified, and nothing else', async (t) => {
    const env = await encrypted(t, garden, authority.issue(['localhost']));
    const unverified = (url = '') => url.replace(/(?<=sslmode=).*/u, 'no-verify');
    const urls = ['DATABASE_URL', 'MIGRATIONS_DATABASE_URL'].map((name) => [name, unverified(env[name])]);
    const { findings } = await examine(t, { env: { ...env, ...Object.fromEntries(urls) } });
    t.deepEqual(
      findings.map(({ check, settings }) => [check, settings]),
      [['postgres.unverified', ['DATABASE_URL', 'MIGRATIONS_DATABASE_URL']]],
    );
  });

  const faults = [...postgresFaults, ...redisFaults, ...kafkaFaults, ...s3Faults, ...certificateFaults, ...otherFaults];
  for (const { what, plant, checks, words } of faults) {
    test.serial(`it finds ${what}, and nothing else`, async (t) => {
      const { findings } = await examine(t, await plant(garden, t));
      t.deepEqual(
        findings.map(({ check }) => check),
        checks,
        report(findings),
      );
      t.true(
        findings.some(({ found }) => words.test(found)),
        report(findings),
      );
      for (const { change } of findings) t.regex(change, /\w{3}/u);
    });
  }
}

if (missing.length === 0) declareTests();
else leftOut(`doctor - left out: no ${missing.join(', ')}`);
