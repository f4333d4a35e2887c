import { declareUnit } from '@parley/chassis/declaration';
import { agentSchema } from './agent-schema.ts';
import { readAgentConfig } from './config.ts';

/** What agent is to those who run it. */
export const agentDeclaration = declareUnit({
  name: 'agent',
  serves: ['rpc', 'graph'],
  readConfig: readAgentConfig,
  schema: agentSchema,
});
