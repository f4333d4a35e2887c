import { actionsFigures } from './actions.ts';
import { embeddedFigures } from './embedded.ts';
import { exportsFigures } from './exports.ts';
import { floodsFigures } from './floods.ts';
import { followUpsFigures } from './follow-ups/follow-ups.ts';
import { gatewayFigures } from './gateway.ts';
import { knowledgeFigures } from './knowledge.ts';
import { localFigures } from './local.ts';
import { loginsFigures } from './logins.ts';
import { meshFigures } from './mesh.ts';
import { modelsFigures } from './models.ts';
import { parserFigures } from './parser.ts';
import { retrievalFigures } from './retrieval.ts';
import { storageFigures } from './storage.ts';
import { voiceFigures } from './voice.ts';
import { workflowsFigures } from './workflows.ts';

/** The benchmarks. Each returns its figures, or the reason why this machine cannot run it. */
export const parts = {
  local: localFigures,
  logins: loginsFigures,
  gateway: gatewayFigures,
  mesh: meshFigures,
  models: modelsFigures,
  actions: actionsFigures,
  workflows: workflowsFigures,
  embedded: embeddedFigures,
  storage: storageFigures,
  parser: parserFigures,
  exports: exportsFigures,
  voice: voiceFigures,
  knowledge: knowledgeFigures,
  retrieval: retrievalFigures,
  'follow-ups': followUpsFigures,
  floods: floodsFigures,
};
