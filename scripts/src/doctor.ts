import { doctorCommand, doctorOptions, doctorUsage } from '@parley/doctor/command';
import { attempt } from './attempt.ts';
import { readOptions } from './read-options.ts';

const usage = `Checks the settings of the units against the engines that they name, and lists what to change.

  scripts/doctor [--unit UNIT]... [--installation FILE] [--json]

${doctorUsage}`;

const options = readOptions(usage, doctorOptions);
await attempt(async () => {
  process.exitCode = await doctorCommand(options, process.env, process);
});
