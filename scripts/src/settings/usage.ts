import { unitNames } from '@parley/local/units';

export const usage = `Lists settings: name, type, default and meaning. It reads none of them.

  scripts/settings [--json] [UNIT]

  UNIT    what the process of this unit reads: ${unitNames.join(', ')}. Default: all settings of all
  --json  for programs
`;
