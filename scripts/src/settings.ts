import { unitNames, units } from '@parley/units';
import { allSettings, settingsOfUnit } from '@parley/units/settings';
import { readOptions } from './read-options.ts';
import { listing, usage } from './settings/listing.ts';

const { json, positionals } = readOptions(usage, { json: { type: 'boolean' } }, 1);
const [name] = positionals;
const unit = units.find((each) => each.name === name);
if (name !== undefined && !unit) {
  process.stderr.write(`There is no unit ${name}, but ${unitNames.join(', ')}\n`);
  process.exitCode = 2;
} else {
  const settings = unit ? { ...settingsOfUnit(unit) } : allSettings();
  process.stdout.write(json ? `${JSON.stringify(settings, null, 2)}\n` : listing(settings));
}
