import { declareUnit } from '@parley/unit/declaration';
import { readVoiceConfig, voiceSettings } from './config.ts';

export const voiceDeclaration = declareUnit({
  name: 'voice',
  serves: ['public'],
  settings: voiceSettings,
  readConfig: readVoiceConfig,
  callsOut: true,
});
