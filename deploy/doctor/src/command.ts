import { readFileSync } from 'node:fs';
import type { Environment } from '@parley/kernel/settings/config';
import { unitNames, units } from '@parley/units';
import { z } from 'zod';
import { diagnose } from './diagnose.ts';
import type { PlannedUnit } from './installation.ts';
import { exitCode, report } from './report.ts';

/** Options in the format of `parseArgs`. */
export const doctorOptions = {
  unit: { type: 'string', multiple: true },
  installation: { type: 'string' },
  json: { type: 'boolean' },
} as const;

export const doctorUsage = `  --unit UNIT          checks the settings of this unit; may be repeated. Default: all of
                       ${unitNames.join(', ')}
  --installation FILE  the settings and the number of processes of each unit, from the ConfigMap that the Helm chart's
                       templates/doctor.yaml makes; the numbers are needed to count database connections
  --json               prints JSON: a list of {level, check, settings, found, change}

It reads the units' environment; NODE_ENV is production if it is not set. It connects to each database, Redis, Kafka, the bucket,
the mail server and all other addresses from this machine. Its only change is one object with a random name in the bucket, which
it deletes again. It prints no secret.

Exit codes: 0 if nothing is wrong, also with warnings; 1 if something is wrong; 2 for unknown arguments.
`;

interface Arguments {
  unit?: string[] | undefined;
  installation?: string | undefined;
  json?: boolean | undefined;
}

const planned = z.record(
  z.string(),
  z.object({ processes: z.int().positive(), env: z.record(z.string(), z.string()) }),
);

/**
 * Prints the findings.
 * @returns the exit code
 * @throws Error if the file of `--installation` is invalid
 */
export async function doctorCommand(
  { unit: chosen = unitNames, installation, json = false }: Arguments,
  env: Environment,
  terminal: Pick<typeof process, 'stdout' | 'stderr'>,
): Promise<number> {
  const unknown = chosen.filter((name) => !unitNames.includes(name));
  if (unknown.length > 0) {
    terminal.stderr.write(`There is no unit ${unknown.join(', ')}, but ${unitNames.join(', ')}\n`);
    return 2;
  }
  // Secrets come from the environment, which overrides the file. In a container, the image sets NODE_ENV.
  const base = { ...env, NODE_ENV: env.NODE_ENV || 'production' };
  const given = installation === undefined ? [] : Object.entries(readInstallation(installation));
  const outcomes = await diagnose({
    env: { ...Object.assign({}, ...given.map(([, unit]) => unit.env)), ...base },
    planned: Object.fromEntries(given.map(([name, unit]) => [name, { ...unit, env: { ...unit.env, ...base } }])),
    units: units.filter(({ name }) => chosen.includes(name)),
    allUnits: units,
    now: Date.now,
    patienceMs: 5_000,
  });
  terminal.stdout.write(json ? `${JSON.stringify(outcomes, null, 2)}\n` : report(outcomes));
  return exitCode(outcomes);
}

function readInstallation(file: string): Record<string, PlannedUnit> {
  const { success, data } = planned.safeParse(JSON.parse(readFileSync(file, 'utf8')));
  if (!success) throw new Error(`${file} is no installation: for each unit {"processes": number, "env": {…}}`);
  return data;
}
