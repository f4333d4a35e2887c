import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** What the supergraph must serve. */
export const operations = [
  // identity
  'register',
  'login',
  'refreshToken',
  'isRegisterable',
  'getAuthProfile',
  'changePassword',
  'myTenant',
  'createTenant',
  'updateTenant',
  'deleteTenant',
  'generateApiKey',
  'avatarConfig',
  'upsertAvatarConfig',
  // agent
  'agent',
  'agents',
  'agentCount',
  'agentConfigOptions',
  'agentAuditLogs',
  'createAgent',
  'updateAgent',
  'deleteAgent',
  // session
  'session',
  'sessions',
  'sessionCount',
  'startSession',
  'sendMessage',
  'endSession',
  'interruptSession',
  'sessionEvents',
  'evaluation',
];

/**
 * The program that compares a supergraph with the contract of the public API. The contract is kept outside this
 * repository: beside the checkout, or where PARLEY_CONTRACT_DIR says. Undefined when it is not on this machine.
 */
export function findContractCheck(root: string, env: NodeJS.ProcessEnv): string | undefined {
  const folder = env['PARLEY_CONTRACT_DIR'] ?? join(root, '../shared/contract');
  const program = join(folder, 'check.mjs');
  return existsSync(program) ? program : undefined;
}
