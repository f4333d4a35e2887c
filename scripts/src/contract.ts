import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readOptions } from './read-options.ts';
import { root } from './root.ts';

/** What the supergraph must serve by now; of anything else that it serves, the contract's form is checked all the same. */
const needed: Record<string, string[]> = JSON.parse(readFileSync(join(import.meta.dirname, 'contract.json'), 'utf8'));

readOptions(
  `node scripts/src/contract.ts

Compares gateway/supergraph.graphql with the contract of the public API, which is kept outside this repository: beside the
checkout in ../shared/contract, or in the folder that PARLEY_CONTRACT_DIR names. Where it is not there nothing is compared.
`,
  {},
);

const program = join(process.env.PARLEY_CONTRACT_DIR ?? join(root, '../shared/contract'), 'check.mjs');
if (existsSync(program)) {
  const args = [program, 'gateway/supergraph.graphql', '--need', Object.values(needed).flat().join(',')];
  process.exitCode = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' }).status ?? 1;
} else {
  console.log('left out: the contract is not beside this checkout (PARLEY_CONTRACT_DIR)');
}
