import { readSettings } from '@parley/kernel/config';
import { declareService } from '@parley/service/declaration';
import { parserSettings } from './config.ts';
import { parserSchema } from './parser-schema.ts';

export const parserDeclaration = declareService({
  name: 'parser',
  serves: [],
  settings: parserSettings,
  readConfig: (env) => readSettings(env, parserSettings),
  calls: ['knowledge'],
  schema: parserSchema,
  consumes: ['document.uploaded.v1'],
  keepsFiles: true,
});
