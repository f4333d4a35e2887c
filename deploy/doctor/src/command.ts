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

export const doctorUsage = `  --unit UNIT          checks what this unit needs, and may be given several times: ${unitNames.join(', ')}.
                       Default: all.
  --installation FILE  what the Helm chart gives to each unit, as the ConfigMap of its templates/doctor.yaml has it: settings, and
                       the number of processes, by which connections of the database are counted.
  --json               for programs: a list of {level, check, settings, found, change}

It reads the environment that the units get, with NODE_ENV=production unless it says otherwise. It tries each database, Redis,
Kafka, the bucket, the mail server and all other addresses from where it runs, and changes nothing but one object of a random
name in the bucket, which it deletes again. No secret is printed.

Exit code: 0 where nothing is wrong (there may be warnings), 1 where something is, 2 for unknown arguments.
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
