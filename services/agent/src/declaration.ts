import { declareService } from '@parley/service/declaration';
import { agentSchema } from './agent-schema.ts';
import { agentSettings, readAgentConfig } from './config.ts';

/** Apart from the code, for tools and for the processes that start it. */
export const agentDeclaration = declareService({
  name: 'agent',
  serves: ['rpc', 'graph'],
  settings: agentSettings,
  readConfig: readAgentConfig,
  calls: ['action', 'identity', 'knowledge'],
  callsByHttp: ['voice'],
  callsOut: true,
  schema: agentSchema,
  hasSubscriptions: true,
});
