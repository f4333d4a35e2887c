import { unitNames, units } from '@parley/units';
import { attempt } from './attempt.ts';
import { diagnose } from './doctor/diagnose.ts';
import { exitCode, report } from './doctor/report.ts';
import { readOptions } from './read-options.ts';

const usage = `Checks the settings of the units against the engines that they name, and says what to change.

  scripts/doctor [--unit UNIT]... [--json]

  --unit UNIT  checks what this unit needs, and may be given several times: ${unitNames.join(', ')}.
               Default: all.
  --json       for programs: a list of {level, check, settings, found, change}

It reads the environment that the units get, with NODE_ENV=production unless it says otherwise. It tries each database, Redis,
Kafka, the bucket, the mail server and all other addresses from where it runs, and changes nothing but one object of a random
name in the bucket, which it deletes again. No secret is printed.

Exit code: 0 where nothing is wrong (there may be warnings), 1 where something is, 2 for unknown arguments.
`;

const options = { unit: { type: 'string', multiple: true }, json: { type: 'boolean' } } as const;
const { unit: chosen = unitNames, json } = readOptions(usage, options);
const unknown = chosen.filter((name) => !unitNames.includes(name));
if (unknown.length > 0) {
  process.stderr.write(`There is no unit ${unknown.join(', ')}, but ${unitNames.join(', ')}\n`);
  process.exitCode = 2;
} else {
  await attempt(async () => {
    const outcomes = await diagnose({
      env: { ...process.env, NODE_ENV: process.env.NODE_ENV || 'production' },
      units: units.filter(({ name }) => chosen.includes(name)),
      allUnits: units,
      now: Date.now,
      patienceMs: 5_000,
    });
    process.stdout.write(json ? `${JSON.stringify(outcomes, null, 2)}\n` : report(outcomes));
    process.exitCode = exitCode(outcomes);
  });
}
