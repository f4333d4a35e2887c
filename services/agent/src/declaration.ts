import { declareService } from '@parley/service/declaration';
import { agentSchema } from './agent-schema.ts';
import { agentSettings, readAgentConfig } from './config.ts';

/** The declaration is separate from the implementation, so that tools and launchers can read it without loading the service. */
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
