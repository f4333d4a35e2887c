import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readOptions } from './read-options.ts';
import { root } from './root.ts';

/** What the supergraph must serve by now; of anything else that it serves, the contract's form is checked all the same. */
const operations = {
  identity: [
    ['register', 'login', 'refreshToken', 'isRegisterable', 'getAuthProfile', 'changePassword', 'generateApiKey'],
    ['myTenant', 'createTenant', 'updateTenant', 'deleteTenant', 'avatarConfig', 'upsertAvatarConfig'],
  ],
  agent: [
    ['agent', 'agents', 'agentCount', 'agentConfigOptions', 'agentAuditLogs'],
    ['createAgent', 'updateAgent', 'deleteAgent'],
  ],
  session: [
    ['session', 'sessions', 'sessionCount', 'startSession', 'sendMessage', 'endSession', 'interruptSession'],
    ['sessionEvents', 'evaluation'],
  ],
};

readOptions(
  `node scripts/src/contract.ts

Compares gateway/supergraph.graphql with the contract of the public API, which is kept outside this repository: beside the
checkout in ../shared/contract, or in the folder that PARLEY_CONTRACT_DIR names. Where it is not there nothing is compared.
`,
  {},
);

const program = join(process.env.PARLEY_CONTRACT_DIR ?? join(root, '../shared/contract'), 'check.mjs');
if (existsSync(program)) {
  const needed = Object.values(operations).flat(2).join(',');
  const args = [program, 'gateway/supergraph.graphql', '--need', needed];
  process.exitCode = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' }).status ?? 1;
} else {
  console.log('left out: the contract is not beside this checkout (PARLEY_CONTRACT_DIR)');
}
