import type { ListedSetting } from '@parley/kernel/settings/settings';
import { unitNames } from '@parley/units';

export const usage = `Lists settings with name, type, default and meaning. It does not read their values.

  scripts/settings [--json] [UNIT]

  UNIT    only the settings that this unit's process reads; one of ${unitNames.join(', ')}. Default: all settings
  --json  prints JSON
`;

/** Formats the settings as text: a heading for each unit, two lines for each setting. */
export function listing(settings: Record<string, ListedSetting[] | undefined>): string {
  const parts = Object.entries(settings).map(([unit, each = []]) => `${unit}\n${each.map(lines).join('')}`);
  return parts.join('\n');
}

function lines(setting: ListedSetting): string {
  const cells = [setting.name, typeText(setting), defaultText(setting)];
  return `  ${cells.join('  ')}\n      ${setting.meaning}\n`;
}

/** Formats the type, and whether the value is a secret. */
export function typeText({ type, secret }: ListedSetting): string {
  return secret ? `${type}, secret` : type;
}

/** Formats the default, the effect of omitting the setting, and when it is required. @param show formats a value. */
export function defaultText(
  { default: given, productionDefault, without, required }: ListedSetting,
  show = (value: string) => value || 'none',
): string {
  if (required === 'always') return 'required';
  const texts = [
    given ? [show(given), without && `(${without})`].filter(Boolean).join(' ') : (without ?? 'none'),
    productionDefault !== undefined && `in production ${show(productionDefault)}`,
    required && `required ${required}`,
  ];
  return texts.filter(Boolean).join('; ');
}
